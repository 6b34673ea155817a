// The figures of a report for a glance, each with its change since the report before.

import {html} from '../../app/ui.js';

const SHARES = new Set(['succeeded', 'at the first try']);

/** The change in words, and whether it is for the better; null where it cannot be told. */
export function change(fact, before) {
  if (!before || fact.value === null || before.value === null) return null;
  const gap = fact.value - before.value;
  const kind = !gap || !fact.wanted ? '' : gap * fact.wanted > 0 ? 'good' : 'bad';
  const sign = gap > 0 ? '+' : '−';
  if (!gap) return {text: 'as before', kind};
  if (SHARES.has(fact.name)) return {text: `${sign}${Math.round(Math.abs(gap) * 100)} points`, kind};
  if (!before.value) return {text: 'was none', kind};
  return {text: `${sign}${Math.round(Math.abs(gap / before.value) * 100)} %`, kind};
}

function Fact({fact, before}) {
  const found = change(fact, before);
  return html`<div><dt>${fact.name}</dt><dd>${fact.shown}
    ${found ? html`<small class=${found.kind} title=${`before: ${before.shown}`}>${found.text}</small>` : null}</dd></div>`;
}

/** @param {{report: object}} props */
export function Facts({report}) {
  const earlier = new Map(report.facts_before?.map((fact) => [fact.name, fact]));
  return html`<dl class="glance">${report.facts.map((fact) => html`<${Fact} key=${fact.name} fact=${fact} before=${earlier.get(fact.name)} />`)}</dl>
    ${report.before ? html`<p class="hint">Compared with <a href=${`/reports/${report.before}`}>${report.before}</a>.</p>` : null}`;
}
