// The head of a task's page: the task, its status with the reason, and the actions on it.

import {Card, Count, Moment, Money, Pill, Span} from '../../app/parts.js';
import {Ask} from '../../app/ask.js';
import {Button} from '../../app/forms.js';
import {act} from '../../app/shell.js';
import {firstLine, words} from '../../app/text.js';
import {html, useState} from '../../app/ui.js';
import {Actions} from './actions.js';
import {Commits} from './commits.js';

const MEND = {
  gave_up: 'Its iterations are used up. Retry it, from the beginning or from its draft, or fork from a step with another model or a note.',
  stuck: 'It went in circles. Look at its draft, or fork from an earlier step with another model or a note that shows the way.',
  budget: 'Its budget is spent. A retry gives it a fresh one; the settings raise it for all tasks.',
  timeout: 'It took too long (TASK_TIMEOUT). Retry it, give it more time, or make it smaller.',
  crashed: 'The daemon died more than once while it ran. Look at the log before you retry it.',
  dependency: 'A task that it depends on did not succeed. Retry that one first.',
  refused: 'It cannot be done as requested. Correct what is named and submit it again.',
  error: 'Something outside the task failed. Correct what is named, then retry it.',
  user: 'Retry it to start it again.',
};
const WAITS = {
  queued: 'waits for a worker',
  shared: 'the hub decides which node does it',
  waiting: 'needs your decision',
};

const linked = (id) => html`<a href=${`/task/${id}`}>#${id}</a>`;

/**
 * Return the reason for the task's status. If a task failed with a known failure, the text begins with that failure,
 * and how the task ended follows in brackets.
 */
function why(task) {
  if (task.status === 'waiting') return WAITS.waiting;
  if (task.status === 'blocked') return html`waits for ${task.waits_for.map((id, at) => html`${at ? ', ' : ''}${linked(id)}`)}`;
  if (task.status === 'scheduled') {
    return html`starts ${task.not_before ? html`<${Moment} at=${task.not_before} />` : 'when a model answers'}${task.reason ? `: ${task.reason}` : ''}`;
  }
  if (task.cancel_requested) return 'ends at its next safe point';
  if (task.cause !== task.reason) return task.cause;
  if (task.ending) return task.reason ? `${words(task.ending)}: ${task.reason}` : words(task.ending);
  return task.reason || WAITS[task.status] || '';
}

function Standing({task, running}) {
  const mend = task.status === 'done' || task.status === 'running' ? '' : MEND[task.ending] ?? '';
  return html`<div class="standing-line">
    <${Pill} status=${task.status} />
    <span id="reason" title=${task.reason || undefined}>${why(task)}${mend ? html` <span class="hint">${mend}</span>` : null}</span>
    ${running ? html`<span class="hint">${running.worker ? `${running.worker}, ` : ''}${running.phase ? words(running.phase) : 'beginning'}
      ${running.since ? html` since <${Span} since=${running.since} />` : null}</span>` : null}
  </div>`;
}

const Fact = ({name, wide = false, children}) => html`<div class=${wide ? 'wide' : undefined}><dt>${name}</dt><dd>${children}</dd></div>`;

function Priority({task}) {
  const [value, setValue] = useState(null);
  const isOpen = ['queued', 'scheduled', 'blocked', 'shared', 'waiting'].includes(task.status);
  if (!isOpen) return html`<span class="number">${task.priority}</span>`;
  const save = async (event) => {
    event.preventDefault();
    const wanted = Number(value ?? task.priority);
    const done = await act(`/api/task/${task.task_id}/priority`, `Its priority is ${wanted} now.`, {priority: wanted});
    if (done.ok) setValue(null);
  };
  return html`<form class="priority" onSubmit=${save}>
    <input type="number" step="1" aria-label="Priority" value=${value ?? task.priority} onInput=${(event) => setValue(event.target.value)} />
    ${value !== null && value !== String(task.priority) ? html`<${Button} sends type="submit" kind="small">Set<//>` : null}</form>`;
}

function Facts({task, course}) {
  const {spent} = task;
  const fork = course?.forked_from;
  return html`<dl class="facts">
    <${Fact} name="Attempt, iteration"><span class="number">${task.attempt || '–'}, ${task.iteration_count || '–'}</span><//>
    <${Fact} name="Tokens in, out"><${Count} value=${spent.tokens_in} />, <${Count} value=${spent.tokens_out} /><//>
    <${Fact} name="Cost"><${Money} usd=${spent.cost_usd} unpriced=${spent.unpriced} /><//>
    <${Fact} name="Models, tests"><span title=${`${spent.model_calls} model calls`}><${Span} seconds=${spent.model_s} />, <${Span} seconds=${spent.suite_s} /></span><//>
    <${Fact} name="Priority"><${Priority} task=${task} /><//>
    <${Fact} name="Kind">${task.kind ? words(task.kind) : '–'}${task.language === 'python' ? '' : `, ${task.language}`}<//>
    <${Fact} name="Added"><${Moment} at=${task.created_at} /><//>
    ${task.started_at ? html`<${Fact} name="Started"><${Moment} at=${task.started_at} /><//>` : null}
    ${task.ended_at ? html`<${Fact} name="Ended"><${Moment} at=${task.ended_at} /><//>` : null}
    ${task.not_before ? html`<${Fact} name="Not before" wide><${Moment} at=${task.not_before} form="full" /><//>` : null}
    <${Fact} name="Repository" wide=${Boolean(task.repo)}><span class="path">${task.repo ?? 'the workspace'}</span>${task.base ? html` <small>from ${task.base}</small>` : null}${task.project ? html` <small>project ${task.project}</small>` : null}<//>
    ${task.depends_on.length ? html`<${Fact} name="After">${task.depends_on.map((id) => html`${linked(id)} `)}<//>` : null}
    ${task.parent ? html`<${Fact} name="Subtask of">${linked(task.parent)}<//>` : null}
    ${fork ? html`<${Fact} name="Forked from"><a href=${`/task/${fork.source}#${fork.attempt}-0-${fork.step_no}`}>#${fork.source}, step ${fork.step_no}</a>
      ${fork.model ? html`<small>by ${fork.model}</small>` : null}<//>` : null}
    ${course?.forks.length ? html`<${Fact} name="Forks">${course.forks.map((each) => html`
      <a href=${`/task/${each.task_id}`} title=${`after step ${each.step_no} of attempt ${each.attempt}`}>#${each.task_id}</a> `)}<//>` : null}
    ${task.key && !task.parent ? html`<${Fact} name="Key" wide><code>${task.key}</code><//>` : null}
  </dl>`;
}

const Parts = ({parts}) => (parts.length ? html`<h2>Subtasks</h2><ul class="plain parts">${parts.map((part) => html`
  <li key=${part.task_id}><${Pill} status=${part.status} /> ${linked(part.task_id)} ${part.description}
    ${part.ending && part.status !== 'done' ? html` <span class="hint">${words(part.ending)}</span>` : null}</li>`)}</ul>` : null);

/** The questions that wait for the owner's decision. */
export function Asks({asks, isWaiting, onDone}) {
  const open = asks.filter((ask) => ask.granted === null && isWaiting);
  if (!open.length) return null;
  return html`<${Card} title="Needs your decision" id="asks">
    <ul class="plain items">${open.map((ask) => html`<${Ask} key=${ask.approval_id} ask=${ask} reload=${onDone} withTask=${false} />`)}</ul><//>`;
}

/** Everything on the page that is above the course of the task. */
export const Head = ({task, course, commits, reload}) => html`
  <div class="bar"><h1><span class="number">#${task.task_id}</span> ${firstLine(task.description)}</h1>
    <${Actions} task=${task} course=${course} reload=${reload} /></div>
  ${course ? html`<${Asks} asks=${course.asks} isWaiting=${task.status === 'waiting'} onDone=${reload} />` : null}
  <section class="card" aria-label="State of the task">
    <${Standing} task=${task} running=${course?.running} />
    <${Facts} task=${task} course=${course} />
    <${Commits} task=${task} commits=${commits} />
    <${Parts} parts=${task.children} />
    ${task.pruned.map((note) => html`<p class="notice pruned" key=${note}>${note}</p>`)}
  </section>`;
