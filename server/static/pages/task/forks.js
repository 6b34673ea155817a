// The task beside its forks: what each came to, at what cost, and how much it changed.

import {fault, post, useData} from '../../app/api.js';
import {Lines} from '../../app/copy.js';
import {Button, Count, Loaded, Money, Pill, Span, confirmed} from '../../app/parts.js';
import {toast} from '../../app/shell.js';
import {words} from '../../app/text.js';
import {html} from '../../app/ui.js';

const None = () => html`<span class="hint">–</span>`;

const OVER = new Set(['failed', 'cancelled']);

async function keep(side, reload) {
  const isSure = await confirmed({
    title: `Keep the work of fork ${side.task_id}?`,
    text: html`A task of its own takes its commit through the tests again and lands it. Forks beside it that still run are cancelled; what they
      have committed stays on their branches until you delete those.`,
    no: 'Choose later',
    yes: 'Keep this one',
  });
  if (!isSure) return;
  const answer = await post(`/api/task/${side.task_id}/keep`);
  if (!answer.ok) toast(fault(answer), 'bad');
  else toast(html`<a href=${`/task/${answer.data.task_id}`}>Task ${answer.data.task_id}</a> lands it.`, 'good');
  await reload();
}

/** What can be done with a fork that was held back, or what became of it. */
function Keep({side, isSettled, reload}) {
  if (side.kept_by) {
    const how = side.kept_status === 'done' ? 'landed as' : OVER.has(side.kept_status) ? 'did not land:' : 'landing as';
    return html`<span class="kept"><b>${how}</b> <a href=${`/task/${side.kept_by}`}>#${side.kept_by}</a>
      ${OVER.has(side.kept_status) && !isSettled ? html`<${Button} sends kind="small" onClick=${() => keep(side, reload)}>Keep this one<//>` : null}</span>`;
  }
  if (!side.held) return html`<${None} />`;
  if (side.status === 'done' && side.branch) {
    return isSettled ? html`<small>not kept</small>` : html`<${Button} sends kind="small main" onClick=${() => keep(side, reload)}>Keep this one<//>`;
  }
  return html`<${None} />`;
}

const Side = ({side, hasHeld, isSettled, reload}) => html`<tr class=${side.kept_by && !OVER.has(side.kept_status) ? 'winner' : undefined}>
  <td class="nowrap"><a href=${`/task/${side.task_id}`}>#${side.task_id}</a> <small>${side.step_no === null ? 'this task' : `after step ${side.step_no}`}</small></td>
  <td>${side.model || html`<${None} />`}</td>
  <td><${Pill} status=${side.status} title=${side.reason} /></td>
  ${hasHeld ? html`<td class="keep"><${Keep} side=${side} isSettled=${isSettled} reload=${reload} /></td>` : null}
  <td>${side.label ? words(side.label) : html`<${None} />`}</td>
  <td class="number">${side.tests_passed ?? html`<${None} />`}</td>
  <td class="number"><${Money} usd=${side.cost_usd} unpriced=${side.unpriced} /></td>
  <td class="number"><${Count} value=${side.tokens} /></td>
  <td class="number">${side.seconds === null ? html`<${None} />` : html`<${Span} seconds=${side.seconds} />`}</td>
  <td>${side.files === null ? html`<${None} />` : html`<a href=${`/task/${side.task_id}#change`} aria-label=${`change of task ${side.task_id}`}><${Lines} added=${side.added} removed=${side.removed} /></a>`}</td>
  <td>${side.branch ? html`<code>${side.branch}</code>${side.integrated ? html` <small>landed</small>` : null}` : html`<${None} />`}</td>
</tr>`;

/** @param {{id: number, about: Set<number>, concerns: (line: object) => boolean}} props `about`: whose lines concern it */
export function Forks({id, about, concerns}) {
  const found = useData(`/api/task/${id}/forks`, {}, concerns);
  return html`<${Loaded} of=${found}>${({sides}) => {
    sides.forEach((side) => side.kept_by && about.add(side.kept_by));
    const hasHeld = sides.some((side) => side.held);
    const isSettled = sides.some((side) => side.kept_by && !OVER.has(side.kept_status));
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Forks side by side">
    <table aria-label="Task and forks"><thead><tr><th scope="col">Task</th><th scope="col">Model</th><th scope="col">Status</th>${hasHeld ? html`<th scope="col">Keep</th>` : null}
      <th scope="col">Verdict</th><th scope="col" class="number">Tests passed</th><th scope="col" class="number">Cost</th>
      <th scope="col" class="number">Tokens</th><th scope="col" class="number">Time</th><th scope="col">Change</th><th scope="col">Branch</th></tr></thead>
    <tbody>${sides.map((side) => html`<${Side} key=${side.task_id} side=${side} hasHeld=${hasHeld} isSettled=${isSettled} reload=${found.reload} />`)}</tbody></table></div>
    ${hasHeld ? html`<p class="hint">Forks by several models do not land: what passes stays on its branch until you keep one.</p>` : null}`;
  }}<//>`;
}
