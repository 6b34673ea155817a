// The task beside its forks: what each came to, at what cost, and how much it changed.

import {useData} from '../../app/api.js';
import {Lines} from '../../app/copy.js';
import {OnBranch} from '../../app/on_branch.js';
import {Count, Loaded, Money, Pill, Span} from '../../app/parts.js';
import {words} from '../../app/text.js';
import {html} from '../../app/ui.js';

const None = () => html`<span class="hint">–</span>`;

/** What can be done with the commit of a fork that was held back, or what became of it. */
function Held({side, isSettled, reload}) {
  if (!side.held) return html`<${None} />`;
  if (side.integrated) return html`<b>landed</b>`;
  if (!side.waits) return html`<${None} />`;
  return isSettled ? html`<small>not chosen</small>` : html`<span class="actions"><${OnBranch} commit=${side} kind="small" reload=${reload} /></span>`;
}

const Side = ({side, hasHeld, isSettled, reload}) => html`<tr class=${side.held && side.integrated ? 'winner' : undefined}>
  <td class="nowrap"><a href=${`/task/${side.task_id}`}>#${side.task_id}</a> <small>${side.step_no === null ? 'this task' : `after step ${side.step_no}`}</small></td>
  <td>${side.model || html`<${None} />`}</td>
  <td><${Pill} status=${side.status} title=${side.reason} /></td>
  ${hasHeld ? html`<td class="nowrap"><${Held} side=${side} isSettled=${isSettled} reload=${reload} /></td>` : null}
  <td>${side.label ? words(side.label) : html`<${None} />`}</td>
  <td class="number">${side.tests_passed ?? html`<${None} />`}</td>
  <td class="number"><${Money} usd=${side.cost_usd} unpriced=${side.unpriced} /></td>
  <td class="number"><${Count} value=${side.tokens} /></td>
  <td class="number">${side.seconds === null ? html`<${None} />` : html`<${Span} seconds=${side.seconds} />`}</td>
  <td>${side.files === null ? html`<${None} />` : html`<a href=${`/task/${side.task_id}#change`} aria-label=${`change of task ${side.task_id}`}><${Lines} added=${side.added} removed=${side.removed} /></a>`}</td>
  <td>${side.branch ? html`<code>${side.branch}</code>${side.integrated && !side.held ? html` <small>landed</small>` : null}` : html`<${None} />`}</td>
</tr>`;

/** @param {{id: number, concerns: (line: object) => boolean}} props */
export function Forks({id, concerns}) {
  const found = useData(`/api/task/${id}/forks`, {}, concerns);
  return html`<${Loaded} of=${found}>${({sides}) => {
    const hasHeld = sides.some((side) => side.held);
    const isSettled = sides.some((side) => side.held && side.integrated);
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Forks side by side">
    <table aria-label="Task and forks"><thead><tr><th scope="col">Task</th><th scope="col">Model</th><th scope="col">Status</th>${hasHeld ? html`<th scope="col">Commit</th>` : null}
      <th scope="col">Verdict</th><th scope="col" class="number">Tests passed</th><th scope="col" class="number">Cost</th>
      <th scope="col" class="number">Tokens</th><th scope="col" class="number">Time</th><th scope="col">Change</th><th scope="col">Branch</th></tr></thead>
    <tbody>${sides.map((side) => html`<${Side} key=${side.task_id} side=${side} hasHeld=${hasHeld} isSettled=${isSettled} reload=${found.reload} />`)}</tbody></table></div>
    ${hasHeld ? html`<p class="hint">What forks by several models commit waits on their branches. Integrating one cancels the others that still run.</p>` : null}`;
  }}<//>`;
}
