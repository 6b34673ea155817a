// The task beside its forks: what each came to, at what cost, and how much it changed.

import {useData} from '../../app/api.js';
import {Lines} from '../../app/copy.js';
import {Count, Loaded, Money, Pill, Span} from '../../app/parts.js';
import {words} from '../../app/text.js';
import {html} from '../../app/ui.js';

const None = () => html`<span class="hint">–</span>`;

const Side = ({side}) => html`<tr>
  <td class="nowrap"><a href=${`/task/${side.task_id}`}>#${side.task_id}</a> <small>${side.step_no === null ? 'this task' : `after step ${side.step_no}`}</small></td>
  <td>${side.model || html`<${None} />`}</td>
  <td><${Pill} status=${side.status} title=${side.reason} /></td>
  <td>${side.label ? words(side.label) : html`<${None} />`}</td>
  <td class="number">${side.tests_passed ?? html`<${None} />`}</td>
  <td class="number"><${Money} usd=${side.cost_usd} unpriced=${side.unpriced} /></td>
  <td class="number"><${Count} value=${side.tokens} /></td>
  <td class="number">${side.seconds === null ? html`<${None} />` : html`<${Span} seconds=${side.seconds} />`}</td>
  <td>${side.files === null ? html`<${None} />` : html`<a href=${`/task/${side.task_id}#change`} aria-label=${`change of task ${side.task_id}`}><${Lines} added=${side.added} removed=${side.removed} /></a>`}</td>
  <td>${side.branch ? html`<code>${side.branch}</code>${side.integrated ? html` <small>landed</small>` : null}` : html`<${None} />`}</td>
</tr>`;

/** @param {{id: number, concerns: (line: object) => boolean}} props */
export function Forks({id, concerns}) {
  const found = useData(`/api/task/${id}/forks`, {}, concerns);
  return html`<${Loaded} of=${found}>${({sides}) => html`<div class="scroll" tabindex="0" role="region" aria-label="Forks side by side">
    <table aria-label="Task and forks"><thead><tr><th scope="col">Task</th><th scope="col">Model</th><th scope="col">Status</th>
      <th scope="col">Verdict</th><th scope="col" class="number">Tests passed</th><th scope="col" class="number">Cost</th>
      <th scope="col" class="number">Tokens</th><th scope="col" class="number">Time</th><th scope="col">Change</th><th scope="col">Branch</th></tr></thead>
    <tbody>${sides.map((side) => html`<${Side} key=${side.task_id} side=${side} />`)}</tbody></table></div>`}<//>`;
}
