// Code and diffs. The server sends highlighted code as pairs of class and text, never as markup.

import {classes, html, useMemo} from './ui.js';

/** One line of code as `[class, text]` pairs. A line given as a string has no classes. */
const Parts = ({parts}) => (typeof parts === 'string' ? parts
  : parts.map(([name, text]) => (name ? html`<span class=${name}>${text}</span>` : text)));

/** Numbered lines of code. @param {{lines: (string|[string, string][])[], label: string}} props */
export const Code = ({lines, label}) => html`
  <pre class="code numbered" tabindex="0" aria-label=${label}><code>
    ${lines.map((parts, index) => html`<span class="line" data-n=${index + 1}><${Parts} parts=${parts} />${'\n'}</span>`)}
  </code></pre>`;

/**
 * One row of a diff. `kind` is `same`, `added`, `gone` or `place`; a row of the kind `place` is a heading between
 * hunks. `old` and `new` are the line numbers in the old and in the new file. `parts` is the row's text, as a string or
 * as pairs of class and text. `tone` is the colour of a heading, `good` or `warn`.
 * @typedef {{kind: string, old?: number|null, new?: number|null, parts: string|[string, string][]}} DiffRow
 */

const SIGN = {added: '+', gone: '−', same: ' ', place: ''};
const SAID = {added: 'added', gone: 'removed'};

const Unified = ({rows}) => rows.map((row) => html`<tr class=${classes(row.kind, row.tone)}>
  <td class="n" data-n=${row.old ?? ''}></td><td class="n" data-n=${row.new ?? ''}></td>
  <td class="sign" data-sign=${SIGN[row.kind]} aria-label=${SAID[row.kind]}></td>
  <td class="text"><${Parts} parts=${row.parts} /></td></tr>`);

/** Arrange rows side by side: each block of removed lines is paired with the block of added lines after it. */
function paired(rows) {
  const pairs = [];
  let gone = [];
  let added = [];
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, added.length); i++) pairs.push([gone[i] ?? null, added[i] ?? null]);
    gone = [];
    added = [];
  };
  for (const row of rows) {
    if (row.kind === 'gone') {
      if (added.length) flush();
      gone.push(row);
    } else if (row.kind === 'added') {
      added.push(row);
    } else {
      flush();
      pairs.push([row, row]);
    }
  }
  flush();
  return pairs;
}

const Half = ({row, side}) => html`<td class=${classes('n', row?.kind)} data-n=${row?.[side] ?? ''}></td>
  <td class=${classes('text', row ? row.kind : 'blank')}>${row ? html`<${Parts} parts=${row.parts} />` : null}</td>`;

const Split = ({rows}) => paired(rows).map(([before, behind]) => (before?.kind === 'place'
  ? html`<tr class=${classes('place', before.tone)}><td class="n"></td><td class="text" colspan="3"><${Parts} parts=${before.parts} /></td></tr>`
  : html`<tr><${Half} row=${before} side="old" /><${Half} row=${behind} side="new" /></tr>`));

/**
 * A diff.
 * @param {{rows: DiffRow[], split?: boolean, label?: string}} props `split` shows the old and the new text side by side
 */
export function Diff({rows, split = false, label = 'Changes'}) {
  const body = useMemo(() => (split ? html`<${Split} rows=${rows} />` : html`<${Unified} rows=${rows} />`), [rows, split]);
  return html`<div class="scroll diff-box" tabindex="0" role="region" aria-label=${label}>
    <table class=${classes('diff', split ? 'split' : 'unified')}><tbody>${body}</tbody></table></div>`;
}
