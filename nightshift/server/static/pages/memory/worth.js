// The measured value of memory: attempts with lessons compared with a random control group, with confidence intervals.

import {Count, Sparkline} from '../../app/parts.js';
import {counted, grouped, percent} from '../../app/text.js';
import {html} from '../../app/ui.js';
import {Range, verdict} from './range.js';

const signed = (value, text) => `${value < 0 ? '−' : '+'}${text(Math.abs(value))}`;
const points = (value) => `${Math.round(value * 100)} points`;
const tenths = (value) => value.toFixed(1);
const whole = (value) => grouped(Math.round(value));

const FIGURES = [
  {name: 'solve_rate', title: 'Solved', text: points, least: 0.2},
  {name: 'iterations', title: 'Iterations', text: tenths, least: 1, lessIsBetter: true},
  {name: 'tokens', title: 'Tokens', text: whole, least: 1000, lessIsBetter: true},
];

const WORDS = {good: 'better with lessons', bad: 'worse with lessons', '': 'may be chance'};

function Figure({figure, found}) {
  if (!found) return html`<tr><th scope="row">${figure.title}</th><td colspan="4" class="hint">not enough attempts yet</td></tr>`;
  const most = Math.max(figure.least, Math.abs(found.low), Math.abs(found.high));
  const kind = verdict(found, figure.lessIsBetter);
  const reach = `${signed(found.low, figure.text)} to ${signed(found.high, figure.text)}`;
  return html`<tr data-figure=${figure.name}><th scope="row">${figure.title}</th>
    <td class="number"><b class=${kind}>${signed(found.estimate, figure.text)}</b></td>
    <td><${Range} found=${found} most=${most} lessIsBetter=${figure.lessIsBetter} width=${200} label=${`${signed(found.estimate, figure.text)}, from ${reach}`} /></td>
    <td class="hint minor">${reach}</td><td class="hint">${WORDS[kind]}</td></tr>`;
}

const rate = ({part, whole: all}) => (all ? `${percent(part / all)} of ${counted(all, 'attempt')}` : 'no attempt yet');

const InUse = ({title, found}) => html`<dt>${title}</dt><dd><b><${Count} value=${found.active} /></b> active
  <span class="hint"> · ${found.probation} on probation · ${found.retired} retired</span></dd>`;

/** The measured value of memory. @param {{learning: object}} props an answer of `/api/learning` */
export const Worth = ({learning}) => html`<div class="worth">
  <div class="scroll" tabindex="0" role="region" aria-label="What lessons change"><table class="uplift">
    <tbody>${FIGURES.map((figure) => html`<${Figure} key=${figure.name} figure=${figure} found=${learning[figure.name]} />`)}</tbody></table>
    <p class="hint">Solved with lessons: ${rate(learning.shown)}; control group: ${rate(learning.control)}. Each figure is the difference, with lessons minus
      without, and its 95 % interval. <code>RECALL_CONTROL_SHARE</code> sets the share of attempts that see none.</p></div>
  <dl>
    <${InUse} title="Failures" found=${learning.failures} />
    <${InUse} title="Patterns" found=${learning.patterns} />
    <dt>Learned</dt><dd>${learning.learned.reduce((sum, {lessons}) => sum + lessons, 0)} in ${learning.learned.length} days
      <${Sparkline} values=${learning.learned.map(({lessons}) => lessons)} label="lessons learned by day" /></dd>
    <dt>Search by</dt><dd>${learning.embedder || html`<span class="none">–</span>`}</dd>
  </dl>
</div>`;
