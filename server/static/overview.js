// The overview: the form for a new task, and lists that follow the daemon.

import {approvals} from './approvals.js';
import {byId, duration, el, firstLine, keepTimes, moment, none, pill} from './dom.js';
import {ask, follow, gently} from './net.js';

const paged = new URLSearchParams(location.search).has('after');

// ---- the lists

function taskRow(task) {
  const what = el('td', {class: 'what'}, el('a', {href: `/task/${task.task_id}`}, firstLine(task.description)),
    task.reason ? el('small', {}, firstLine(task.reason)) : null);
  return el('tr', {},
    el('td', {class: 'number'}, String(task.task_id)),
    el('td', {}, pill(task.status)),
    what,
    el('td', {class: 'number'}, String(task.iteration_count || '–')),
    el('td', {}, task.commit ? el('code', {}, task.commit.slice(0, 8)) : none()),
    el('td', {class: 'when'}, moment(task.ended_at ?? task.started_at ?? task.created_at)));
}

function workerRow(worker) {
  const busy = worker.task_id !== null;
  const at = busy ? [
    ' ', el('a', {href: `/task/${worker.task_id}`}, `#${worker.task_id}`), ' ',
    el('span', {class: 'hint'}, (worker.phase ?? 'starting') + (worker.iteration ? ` · try ${worker.iteration}` : '')),
    el('small', {}, firstLine(worker.description)),
    worker.last_line ? el('small', {class: 'hint'}, firstLine(worker.last_line)) : null,
  ] : [' ', el('span', {class: 'hint'}, 'idle')];
  return el('li', {}, el('span', {class: busy ? 'dot busy' : 'dot', 'aria-hidden': 'true'}), ' ',
    el('b', {}, worker.name), ...at);
}

function modelRow(model) {
  return el('li', {}, el('span', {class: `dot ${model.available ? 'up' : 'down'}`, 'aria-hidden': 'true'}), ' ',
    el('b', {}, model.name), ' ', el('span', {class: 'hint'}, model.model),
    el('small', {}, model.detail || (model.available ? 'available' : 'not reachable')));
}

function holdLine(hold) {
  return el('p', {class: 'notice'}, `Held back (${hold.source}, `, moment(hold.since),
    `)${hold.reason ? `: ${hold.reason}` : ''}. It goes on ${hold.lifted_by}.`);
}

function showReport(report) {
  byId('state').dataset.state = report.state;
  byId('state').dataset.held = report.holds.map((hold) => hold.source).join(' ');
  byId('state-name').className = `pill ${report.state}`;
  byId('state-name').textContent = report.state;
  showPause(report.state);
  for (const item of byId('counts').children) {
    const status = item.dataset.status;
    const count = report.queue[status] ?? 0;
    item.className = count ? status : `${status} zero`;
    item.firstElementChild.textContent = String(count);
  }
  byId('holds').replaceChildren(...report.holds.map(holdLine));
  byId('notices').replaceChildren(...report.notices.map((text) => el('p', {class: 'notice'}, text)));
  if (report.workers.length) byId('workers').replaceChildren(...report.workers.map(workerRow));
  if (report.models.length) byId('models').replaceChildren(...report.models.map(modelRow));
  const {saved, replies, solved, days} = report.saved;
  byId('saved').textContent = `${saved} of ${replies} replies saved and ${solved} tasks solved without a model in ${days} days`;
  byId('uptime').textContent = duration(report.uptime_s);
}

const lookAtAsks = approvals({}, () => refresh());

const refresh = gently(async () => {
  const [report, page] = await Promise.all([
    ask('/api/status'), paged ? null : ask('/api/tasks?limit=30'), lookAtAsks(),
  ]);
  if (report.ok) showReport(report.data);
  if (page?.ok) {
    byId('tasks').tBodies[0].replaceChildren(...page.data.tasks.map(taskRow));
    byId('tasks').hidden = !page.data.tasks.length;
    byId('no-tasks').hidden = page.data.tasks.length > 0;
  }
});

// ---- pause and resume

function showPause(state) {
  byId('pause').hidden = !['running', 'paused', 'checkpoint'].includes(state);
  byId('pause').textContent = ownersHold() ? 'Resume' : 'Pause';
}

// What else holds tasks back ends by itself: the button says nothing to it.
function ownersHold() {
  return byId('state').dataset.held.split(' ').some((source) => source === 'owner' || source === 'checkpoint');
}

byId('pause').addEventListener('click', async () => {
  const path = ownersHold() ? '/api/resume' : '/api/pause';
  const answer = await ask(path, {});
  if (!answer.ok) byId('notices').prepend(el('p', {class: 'notice', role: 'alert'}, answer.data.error));
  refresh();
});

// ---- the form

const form = byId('new');

function written() {
  const task = {description: form.elements.description.value};
  const {kind, priority, repo} = form.elements;
  if (kind.value) task.kind = kind.value;
  if (repo.value.trim()) task.repo = repo.value.trim();
  // What is no whole number is sent as it is: the daemon says what is wrong with it.
  if (priority.value !== '') task.priority = Number.isInteger(Number(priority.value)) ? Number(priority.value) : priority.value;
  if (byId('tests-text').value.trim()) task.tests = {[byId('tests-path').value.trim()]: byId('tests-text').value};
  return task;
}

function showErrors(data) {
  const left = [];
  for (const note of form.querySelectorAll('[data-for]')) note.hidden = true;
  for (const field of form.querySelectorAll('[aria-invalid]')) field.removeAttribute('aria-invalid');
  for (const [name, why] of Object.entries(data.fields)) {
    const note = form.querySelector(`[data-for="${CSS.escape(name.split('.')[0])}"]`);
    if (!note) {
      left.push(`${name}: ${why}`);
      continue;
    }
    note.textContent = why;
    note.hidden = false;
    note.closest('details')?.setAttribute('open', '');
    byId(name)?.setAttribute('aria-invalid', 'true');
  }
  const above = left.length || Object.keys(data.fields).length ? left.join('; ') : data.error;
  byId('new-error').textContent = above;
  byId('new-error').hidden = !above;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button[type=submit]');
  button.disabled = true;
  const answer = await ask('/api/task', written());
  button.disabled = false;
  showErrors(answer.ok ? {error: '', fields: {}} : answer.data);
  byId('new-done').replaceChildren();
  if (!answer.ok) {
    form.querySelector('[aria-invalid]')?.focus();
    return;
  }
  const id = answer.data.task_id;
  byId('new-done').append('Added as ', el('a', {href: `/task/${id}`}, `task ${id}`), `, ${answer.data.status}.`);
  form.elements.description.value = '';
  byId('tests-text').value = '';
  refresh();
});

form.elements.description.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});

form.querySelector('button[type=submit]').disabled = false;
showPause(byId('state').dataset.state);
keepTimes();
follow({}, refresh);
refresh();
setInterval(refresh, 30000);
