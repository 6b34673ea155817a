// Actions on tasks of a list: on one task, on the chosen tasks, or on all tasks that match the filter.

import {fault, post} from './api.js';
import {confirmed} from './dialogs.js';
import {Button} from './forms.js';
import {priorityFor} from './priority.js';
import {act, status} from './state.js';
import {counted} from './text.js';
import {UNDO_MS, toast} from './toasts.js';
import {html} from './ui.js';

const SLICE = 500; // maximum of one request
const REASONS = 3;

/** Statuses in which each action is possible. The API refuses the action in all other statuses. */
export const FITTING = {
  cancel: ['queued', 'scheduled', 'blocked', 'shared', 'running', 'waiting'],
  retry: ['failed', 'cancelled', 'scheduled'],
  prioritise: ['queued', 'scheduled', 'blocked', 'shared', 'running', 'waiting', 'failed', 'cancelled'],
};

const TOLD = {cancel: ['Cancel', 'cancelled'], retry: ['Retry', 'queued again'], prioritise: ['Prioritise', 'prioritised']};
const REMARK = {
  cancel: 'A running task ends at its next safe point.',
  retry: 'They are retried from the beginning, as a new attempt; scheduled tasks continue now.',
  prioritise: 'Tasks with a higher priority start sooner.',
};

/**
 * True if cancelling a task can be undone exactly by a retry. This holds if the task had not begun and had no start
 * time, because a retry drops the start time.
 */
const isUntouched = (task) => task.attempt === 0 && !task.not_before && ['queued', 'blocked'].includes(task.status);

/**
 * Show a message about an action, with a button that undoes the action within ten seconds. `after` is called after the
 * undo.
 */
export function offerUndo(said, path, body, after = undefined) {
  const undo = () => act(path, 'Undone.', body).then(after);
  toast(html`${said} <${Button} sends kind="bare small" onClick=${undo}>Undo<//>`, 'good', UNDO_MS);
}

/**
 * Where the actions on one task are sent, and what is done after them; the default is a task of this daemon.
 * @typedef {{path: string, after?: () => any}} Way
 */
const here = (task) => ({path: `/api/task/${task.task_id}`});

/** Cancel one task after a confirmation. For a task that had not begun, offer to undo this. @param {Way} [way] */
export async function cancelOne(task, {path, after} = here(task)) {
  const id = task.task_id;
  const runs = task.status === 'running';
  const lost = runs ? 'It ends at its next safe point.' : task.attempt ? 'Its work so far is discarded.' : 'It has not started.';
  const sure = await confirmed({
    title: `Cancel task ${id}?`, yes: 'Cancel task', no: runs ? 'Keep running' : 'Keep task', danger: true,
    text: `${lost} Subtasks and tasks that depend on it end with it. It can be retried later, from the beginning.`,
  });
  if (!sure) return;
  const said = `Task ${id} ${runs ? 'will end at its next safe point' : 'is cancelled'}.`;
  const canUndo = isUntouched(task);
  const answer = await act(`${path}/cancel`, canUndo ? '' : said);
  if (answer.ok && canUndo) offerUndo(said, `${path}/retry`, undefined, after);
  await after?.();
}

/** Retry one task. With `how` set to `{from_draft: true}`, it starts from its draft. */
export async function retryOne(task, how = undefined, {path, after} = here(task)) {
  const said = `Task ${task.task_id} is queued again.`;
  const answer = await act(`${path}/retry`, task.status === 'cancelled' ? '' : said, how);
  if (answer.ok && task.status === 'cancelled') offerUndo(said, `${path}/cancel`, undefined, after);
  await after?.();
}

/** Ask the owner for the priority of one task, set it, and offer to undo this. @param {Way} [way] */
export async function prioritiseOne(task, {path, after} = here(task)) {
  const priority = await priorityFor(`Priority of task ${task.task_id}`, task.priority);
  if (priority === null || priority === task.priority) return;
  const answer = await act(`${path}/priority`, '', {priority});
  if (answer.ok) offerUndo(`Task ${task.task_id} has priority ${priority}.`, `${path}/priority`, {priority: task.priority}, after);
  await after?.();
}

/**
 * Apply an action to many tasks after a confirmation.
 * @param {'cancel'|'retry'|'prioritise'} action
 * @param {{ids?: number[], filter?: object}} which the ids of chosen tasks, or a filter that the tasks match
 * @returns {Promise<boolean>} true if the action was carried out
 */
export async function actOnMany(action, which) {
  const count = await countOf(action, which);
  if (count === null) return false;
  const [verb] = TOLD[action];
  if (!count.fitting) {
    toast(`${counted(count.matched, 'task')} chosen, but none of them can be ${TOLD[action][1]}.`);
    return false;
  }
  const title = `${verb} ${counted(count.fitting, 'task')}?`;
  const more = action === 'prioritise' ? await numberFor(title) : await sureOf(action, title, count);
  if (more === null) return false;
  tell(action, await performed(which, {action, ...more}));
  status.reload();
  return true;
}

async function numberFor(title) {
  const priority = await priorityFor(title, 1);
  return priority === null ? null : {priority};
}

async function sureOf(action, title, {matched, fitting}) {
  const rest = matched - fitting;
  const text = `${REMARK[action]}${rest ? ` ${counted(rest, 'other chosen task')} cannot be.` : ''}`;
  const kept = action === 'cancel' ? {no: 'Keep them', danger: true} : {no: 'Leave them'};
  return await confirmed({title, text, yes: title.replace('?', ''), ...kept}) ? {} : null;
}

/** Count the selected tasks, and those of them for which the action is possible; null if the request failed. */
async function countOf(action, which) {
  const sum = {matched: 0, fitting: 0};
  const priority = action === 'prioritise' ? {priority: 1} : {};
  for (const part of partsOf(which)) {
    const answer = await post('/api/tasks/bulk', {action, ...priority, ...part, dry_run: true});
    if (!answer.ok) return toast(fault(answer), 'bad') ?? null;
    sum.matched += answer.data.matched;
    sum.fitting += answer.data.fitting;
  }
  return sum;
}

/**
 * Apply an action, and return the result for each task. If a request fails, no further requests are sent, and the error
 * is the last result, with `task_id` null.
 */
async function performed(which, asked) {
  const results = [];
  for (const part of partsOf(which)) {
    let after = 0;
    do {
      const answer = await post('/api/tasks/bulk', {...asked, ...part, ...(part.filter ? {after} : {})});
      if (!answer.ok) return [...results, {ok: false, task_id: null, error: fault(answer)}];
      results.push(...answer.data.results);
      after = answer.data.next_after;
    } while (after);
  }
  return results;
}

function partsOf({ids, filter}) {
  if (!ids) return [{filter}];
  return Array.from({length: Math.ceil(ids.length / SLICE)}, (_, part) => ({ids: ids.slice(part * SLICE, (part + 1) * SLICE)}));
}

const OPPOSITE = {cancel: 'retry', retry: 'cancel', prioritise: 'prioritise'};

/**
 * Show a message about an action on many tasks, with a button that undoes the action. `back` holds the results of those
 * tasks that the opposite action can restore exactly; the other tasks are not restored. `all` is the number of tasks on
 * which the action succeeded.
 */
function offerUndoOfMany(action, back, all) {
  const undo = async () => {
    const results = [];
    for (const priority of new Set(back.map((each) => (action === 'prioritise' ? each.priority_before : null)))) {
      const ids = back.filter((each) => priority === null || each.priority_before === priority).map(({task_id: id}) => id);
      results.push(...await performed({ids}, {action: OPPOSITE[action], ...(priority === null ? {} : {priority})}));
    }
    const failed = results.find(({ok}) => !ok);
    toast(failed ? failed.error : 'Undone.', failed ? 'bad' : 'good');
    status.reload();
  };
  const label = back.length < all ? `Undo for ${back.length}` : 'Undo';
  toast(html`${counted(all, 'task')} ${TOLD[action][1]}. <${Button} sends kind="bare small" onClick=${undo}>${label}<//>`, 'good', UNDO_MS);
}

function tell(action, results) {
  const refused = results.filter(({ok}) => !ok);
  const done = `${counted(results.length - refused.length, 'task')} ${TOLD[action][1]}`;
  const back = results.filter((each) => each.can_undo);
  if (back.length) offerUndoOfMany(action, back, results.length - refused.length);
  if (!refused.length) return back.length ? undefined : toast(`${done}.`, 'good');
  const reasons = refused.slice(0, REASONS).map(({error}) => error).join('; ');
  return toast(`${done}, ${refused.length} not: ${reasons}${refused.length > REASONS ? '; …' : ''}`, 'bad');
}
