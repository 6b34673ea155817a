// A task's page: keeps where it stands, its tries and its log up to date; the steps are a reload away.

import {approvals} from './approvals.js';
import {byId, duration, el, keepTimes, localClock, logRow, moment, none, pill} from './dom.js';
import {ask, follow, gently} from './net.js';

const id = byId('task').dataset.id;
const log = byId('log');

function phase(run) {
  return el('span', {class: `phase ${run.outcome}`, title: run.outcome.replace('_', ' ')},
    `${run.phase.toLowerCase()} `, el('small', {}, duration(run.duration_s)));
}

function tryRow(row) {
  const count = (value, name) => el('td', {class: `number ${name}`}, value === null ? '–' : String(value));
  return el('tr', {}, count(row.attempt, ''), count(row.iteration, ''), el('td', {}, ...row.phases.map(phase)),
    count(row.passed, 'good'), count(row.failed, row.failed ? 'bad' : ''), count(row.total, ''));
}

function why(task) {
  if (task.ending) return task.ending.replace('_', ' ') + (task.reason ? `: ${task.reason}` : '');
  return task.reason || (task.cancel_requested ? 'ends at its next safe point' : '');
}

function show(task) {
  byId('status').replaceChildren(pill(task.status));
  byId('reason').textContent = why(task);
  byId('attempt').textContent = task.attempt || '–';
  byId('tries').textContent = task.iteration_count || '–';
  byId('calls').textContent = task.spent.model_calls;
  byId('tokens').textContent =
    `${task.spent.tokens_in.toLocaleString('en')} / ${task.spent.tokens_out.toLocaleString('en')}`;
  byId('commit').replaceChildren(task.commit ? el('code', {}, task.commit.slice(0, 12)) : none());
  byId('branch').replaceChildren(task.branch ? el('code', {}, task.branch) : none());
  byId('started').replaceChildren(moment(task.started_at));
  byId('ended').replaceChildren(moment(task.ended_at));
  byId('iterations').tBodies[0].replaceChildren(...task.iterations.map(tryRow));
  byId('iterations').hidden = !task.iterations.length;
  byId('no-tries').hidden = task.iterations.length > 0;
  const ended = ['failed', 'cancelled'].includes(task.status);
  byId('retry').hidden = !ended;
  byId('cancel').hidden = ended || task.status === 'done' || task.cancel_requested;
}

const lookAtAsks = approvals({task: id}, () => refresh());

const refresh = gently(async () => {
  const [answer] = await Promise.all([ask(`/api/task/${id}`), lookAtAsks()]);
  if (answer.ok) show(answer.data);
});

for (const verb of ['cancel', 'retry']) {
  byId(verb).addEventListener('click', async () => {
    const answer = await ask(`/api/task/${id}/${verb}`, {});
    byId('action-error').textContent = answer.ok ? '' : answer.data.error;
    byId('action-error').hidden = answer.ok;
    refresh();
  });
}

keepTimes();
localClock(log);
log.scrollTop = log.scrollHeight;
follow({after: byId('task').dataset.after, task: id}, (line) => {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(logRow(line));
  if (atEnd) log.scrollTop = log.scrollHeight;
  if (line.event === 'step_finished') byId('more-steps').hidden = false;
  refresh();
});
