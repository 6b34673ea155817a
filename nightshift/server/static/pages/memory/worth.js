// The measured value of memory: attempts with lessons compared with a random control group, with confidence intervals.

import {Count, Sparkline} from '../../app/parts.js';
import {counted, percent} from '../../app/text.js';
import {html} from '../../app/ui.js';
import {Range, verdict} from './range.js';

const points = (value) => `${value < 0 ? '−' : '+'}${Math.round(Math.abs(value) * 100)} points`;

const LEAST = 0.2;
const WORDS = {good: 'better with lessons', bad: 'worse with lessons', '': 'may be chance'};

function SolveRate({found}) {
  if (!found) return html`<tr><th scope="row">Solved</th><td colspan="4" class="hint">not enough attempts yet</td></tr>`;
  const most = Math.max(LEAST, Math.abs(found.low), Math.abs(found.high));
  const kind = verdict(found);
  const reach = `${points(found.low)} to ${points(found.high)}`;
  return html`<tr data-figure="solve_rate"><th scope="row">Solved</th>
    <td class="number"><b class=${kind}>${points(found.estimate)}</b></td>
    <td><${Range} found=${found} most=${most} width=${200} label=${`${points(found.estimate)}, from ${reach}`} /></td>
    <td class="hint minor">${reach}</td><td class="hint">${WORDS[kind]}</td></tr>`;
}

const rate = ({part, whole: all}) => (all ? `${percent(part / all)} of ${counted(all, 'attempt')}` : 'no attempt yet');

const InUse = ({title, found}) => html`<dt>${title}</dt><dd><b><${Count} value=${found.active} /></b> active
  <span class="hint"> · ${found.probation} on probation · ${found.retired} retired</span></dd>`;

/** The measured value of memory. @param {{learning: object}} props an answer of `/api/learning` */
export const Worth = ({learning}) => html`<div class="worth">
  <div class="scroll" tabindex="0" role="region" aria-label="What lessons change"><table class="uplift">
    <tbody><${SolveRate} found=${learning.solve_rate} /></tbody></table>
    <p class="hint">Solved with lessons: ${rate(learning.shown)}; control group: ${rate(learning.control)}. The figure is the difference, with lessons minus
      without, and its 95 % interval. <code>RECALL_CONTROL_SHARE</code> sets the share of attempts that see none.</p></div>
  <dl>
    <${InUse} title="Failures" found=${learning.failures} />
    <${InUse} title="Patterns" found=${learning.patterns} />
    <dt>Learned</dt><dd>${learning.learned.reduce((sum, {lessons}) => sum + lessons, 0)} in ${learning.learned.length} days
      <${Sparkline} values=${learning.learned.map(({lessons}) => lessons)} label="lessons learned by day" /></dd>
    <dt>Search by</dt><dd>${learning.embedder || html`<span class="none">–</span>`}</dd>
  </dl>
</div>`;
