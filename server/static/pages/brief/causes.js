// Why tasks failed: one row for each cause, with the tasks that failed for it.

import {Card} from '../../app/parts.js';
import {counted, words} from '../../app/text.js';
import {html} from '../../app/ui.js';

const SHOWN = 6;

const Task = ({task}) => html`<li><a href=${`/task/${task.task_id}`} title=${task.reason}><span class="number">#${task.task_id}</span> ${task.title}</a></li>`;

const Cause = ({cause}) => html`<li class="cause" data-cause=${cause.id}>
  <p class="cause-head"><b class="number">${cause.count}</b> <code>${cause.title}</code>
    ${cause.ending ? html`<span class="hint">${words(cause.ending)}</span>` : null}</p>
  <details><summary>${counted(cause.count, 'task')}</summary>
    <ul class="failed-tasks">${cause.tasks.slice(0, SHOWN).map((task) => html`<${Task} key=${task.task_id} task=${task} />`)}
      ${cause.count > SHOWN ? html`<li class="hint">${counted(cause.count - SHOWN, 'more task')}</li>` : null}</ul></details>
</li>`;

/** @param {{causes: object[]}} props rows of the brief */
export const Causes = ({causes}) => (causes.length ? html`<${Card} title="Why tasks failed" id="causes">
  <ul class="plain causes">${causes.map((cause) => html`<${Cause} key=${cause.id} cause=${cause} />`)}</ul><//>` : null);
