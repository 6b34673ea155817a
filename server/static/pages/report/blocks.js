// The blocks of a report: each kind that report/document.py knows, drawn; texts are texts and nothing else.

import {Copy} from '../../app/copy.js';
import {classes, html} from '../../app/ui.js';
import {Plot} from './plot.js';

const STYLES = {good: 'good', warn: 'warn', bad: 'bad', dim: 'hint'};

function Piece({piece}) {
  const text = piece.task === null ? piece.text : html`<a href=${`/task/${piece.task}`}>${piece.text}</a>`;
  if (piece.style === 'code') return html`<code>${text}</code>`;
  if (piece.style === 'strong') return html`<strong>${text}</strong>`;
  return piece.style === 'plain' ? text : html`<span class=${STYLES[piece.style]}>${text}</span>`;
}

/** A line in its pieces. */
export const Line = ({pieces}) => pieces.map((piece, index) => html`<${Piece} key=${index} piece=${piece} />`);

const Paragraph = ({block}) => html`<p class=${block.aside ? 'aside hint' : undefined}><${Line} pieces=${block.text} /></p>`;

const Bullets = ({block}) => html`<ul>${block.items.map((item, index) => html`<li key=${index}><${Line} pieces=${item} /></li>`)}</ul>`;

function Table({block}) {
  const kind = (index) => (block.numbers.includes(index) ? 'number' : undefined);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${block.title || block.head.filter(Boolean).join(', ')}><table>
    ${block.title ? html`<caption>${block.title}</caption>` : null}
    <thead><tr>${block.head.map((name, index) => html`<th scope="col" key=${index} class=${kind(index)}>${name}</th>`)}</tr></thead>
    <tbody>${block.rows.map((row, at) => html`<tr key=${at}>${row.map((cell, index) => html`
      <td key=${index} class=${kind(index)}><${Line} pieces=${cell} /></td>`)}</tr>`)}</tbody></table></div>`;
}

function Stack({block}) {
  const parts = block.parts.filter(({count}) => count);
  const told = parts.map(({name, count}) => `${name}: ${count}`).join(', ');
  return html`<figure class="stack"><figcaption>${block.title}</figcaption>
    <div class="stack-bar" role="img" aria-label=${`${block.title}: ${told}`}>
      ${parts.map((part) => html`<span key=${part.name} class=${`f-${part.style}`} style=${{flexGrow: part.count}} title=${`${part.name}: ${part.count}`}></span>`)}</div>
    <ul class="stack-parts">${parts.map((part) => html`<li key=${part.name}><span class=${`swatch f-${part.style}`}></span>${part.name} <b>${part.count}</b></li>`)}</ul>
  </figure>`;
}

const Trend = ({block}) => html`<div class="trend">${block.series.map((series) => html`<${Plot} key=${series.name} series=${series} />`)}</div>`;

const Entry = ({entry}) => html`<li class=${classes(`e-${entry.style}`, {settled: entry.settled})}>
  <p><${Line} pieces=${entry.head} /></p>
  ${entry.lines.map((line, index) => html`<p key=${index} class="below"><${Line} pieces=${line} /></p>`)}
  ${entry.commands.length ? html`<ul class="commands">${entry.commands.map(([what, command]) => html`<li key=${what}>
    <span class="hint">${what}</span> <code>${command}</code><${Copy} text=${command} what=${`the command: ${what}`} /></li>`)}</ul>` : null}
</li>`;

const Entries = ({block}) => html`<ol class="entries">${block.items.map((entry, index) => html`<${Entry} key=${index} entry=${entry} />`)}</ol>`;

const KINDS = {paragraph: Paragraph, bullets: Bullets, table: Table, stack: Stack, trend: Trend, entries: Entries};

/** One block of the document. */
export const Block = ({block}) => html`<${KINDS[block.kind]} block=${block} />`;
