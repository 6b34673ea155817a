// The memory card: the number of lessons, and their measured value.

import {useData} from '../../app/api.js';
import {Card, Loaded, Sparkline} from '../../app/parts.js';
import {counted} from '../../app/text.js';
import {html} from '../../app/ui.js';

const KINDS = ['lesson_stored', 'lesson_retired', 'lesson_restored', 'task_moved'];

const signed = (share) => `${share < 0 ? '−' : '+'}${Math.round(100 * Math.abs(share))} points`;

function worth({solve_rate: rate, shown, control}) {
  if (!rate) return `not known yet: ${counted(shown.whole, 'attempt')} with lessons, ${control.whole} in the control group`;
  const isSure = rate.low > 0 || rate.high < 0;
  return html`<b class=${isSure ? (rate.estimate > 0 ? 'good' : 'bad') : ''}>${signed(rate.estimate)}</b> solved
    ${' '}<span class="hint">(${signed(rate.low)} to ${signed(rate.high)}${isSure ? '' : '; may be chance'})</span>`;
}

const active = ({failures, patterns}) => failures.active + failures.probation + patterns.active + patterns.probation;

const Told = ({learning}) => html`<dl>
  <dt>Lessons</dt><dd><a href="/memory"><b>${active(learning)}</b> in use</a>
    <${Sparkline} values=${learning.learned.map(({lessons}) => lessons)} label="lessons learned by day" /></dd>
  <dt>Worth</dt><dd>${worth(learning)}</dd>
  <dt>Search by</dt><dd>${learning.embedder || '–'}</dd>
</dl>`;

export function Memory() {
  const learning = useData('/api/learning', {}, KINDS);
  return html`<${Card} title="Memory"><${Loaded} of=${learning}>${(data) => html`<${Told} learning=${data} />`}<//><//>`;
}
