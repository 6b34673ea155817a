// The last ten ended tasks, each with its result, the reason, and a link to its change.

import {useData} from '../../app/api.js';
import {Card, Empty, Loaded, Moment, Money, Pill} from '../../app/parts.js';
import {firstLine, typed} from '../../app/text.js';
import {html} from '../../app/ui.js';

const QUERY = {status: 'done,failed,cancelled', sort: 'ended', limit: 10};

const Row = ({task}) => html`<li data-task=${task.task_id} class=${task.status}>
  <${Pill} status=${task.status} />
  <p class="what"><a href=${`/task/${task.task_id}`}><span class="number">#${task.task_id}</span> ${firstLine(task.description) || '(no words)'}</a>
    ${task.status !== 'done' && task.cause ? html`<small>${firstLine(task.cause, 200)}</small>` : null}</p>
  <span class="facts">${task.commit ? html`<a href=${`/review?task=${task.task_id}`}>Diff</a>` : null}
    ${task.has_draft ? html`<a href=${`/review?task=${task.task_id}`}>Draft</a>` : null}
    ${task.spent.model_calls ? html`<${Money} usd=${task.spent.cost_usd} unpriced=${task.spent.unpriced} />` : null}
    <span class="hint"><${Moment} at=${task.ended_at} /></span></span>
</li>`;

/** A card with the last ten ended tasks. It links to the list of all tasks. */
export function Ended() {
  const found = useData('/api/tasks', QUERY, ['task_moved', 'task_recovered', 'commit_recorded']);
  return html`<${Card} title="Recently ended" id="ended" hint=${html`<a href="/tasks?sort=ended">All tasks</a>`}>
    <${Loaded} of=${found}>${({tasks}) => (tasks.length
    ? html`<ul class="plain ended">${tasks.map((task) => html`<${Row} key=${task.task_id} task=${task} />`)}</ul>`
    : html`<${Empty}>No task has ended yet. <a href="/tasks#new">Describe one</a>, add it to <code>tasks.yaml</code>, or run
      <code>${typed('"Create a FastAPI health check endpoint"')}</code>.<//>`)}<//>
  <//>`;
}
