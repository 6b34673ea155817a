// The list of tasks, with search, sorting, live updates, and actions on one or many tasks.

import {go} from './boot.js';
import {Button} from './forms.js';
import {whenever} from './live.js';
import {Card, Empty, Fault, Moment, Money, Pill} from './parts.js';
import {AskPriority} from './priority.js';
import {FITTING, actOnMany, cancelOne, prioritiseOne, retryOne} from './queue_acts.js';
import {Filter} from './queue_filter.js';
import {filterOf, isFiltered, listOfTasks} from './queue_model.js';
import {Table} from './table.js';
import {counted, firstLine, typed} from './text.js';
import {html, useComputed, useEffect, useMemo, useRef, useSignal, useSignalEffect} from './ui.js';

// Kinds of events after which a row may change or move.
const KINDS = ['task_submitted', 'task_claimed', 'task_moved', 'task_recovered', 'task_cancel_requested',
  'task_prioritised', 'step_finished', 'asked', 'answered', 'committed', 'integrated', 'discarded', 'reverted'];
const PAUSE_MS = 400;
const SORTS = {task_id: 'id', iteration_count: 'iterations', ended_at: 'ended'};
const COLUMNS_OF = Object.fromEntries(Object.entries(SORTS).map(([key, sort]) => [sort, key]));
const open = (task) => go(`/task/${task.task_id}`);

const What = ({task}) => html`<a href=${`/task/${task.task_id}`}>${firstLine(task.description) || '(no words)'}</a>
  ${PENDING.includes(task.status) ? html`<small title=${task.reason || undefined}><${Why} task=${task} /></small>` : task.cause ? html`<small title=${task.reason}>${firstLine(task.cause)}</small>` : null}
  ${task.repo ? html`<small class="path">${task.repo}</small>` : null}`;

const PENDING = ['scheduled', 'blocked', 'shared'];

/** Says why a task has not started: the tasks that it waits for, or the time when it starts and the reason. */
function Why({task}) {
  if (task.status === 'blocked') {
    return html`waits for ${task.waits_for.map((id, at) => html`${at ? ', ' : ''}<a href=${`/task/${id}`}>#${id}</a>`)}`;
  }
  if (task.status === 'shared') return html`the hub decides which node does it`;
  const why = firstLine(task.cause) || 'as requested';
  return task.not_before ? html`starts <${Moment} at=${task.not_before} />: ${why}` : html`starts when a model answers: ${why}`;
}

const Standing = ({task}) => html`<${Pill} status=${task.status} />
  ${task.cancel_requested && task.status === 'running' ? html`<small>to be cancelled</small>` : null}`;

/**
 * For a scheduled task, the time when it starts, absolute and relative. For other tasks, the time when the task ended,
 * or else started, or else was created.
 */
const When = ({task}) => (task.status === 'scheduled' && task.not_before
  ? html`starts <${Moment} at=${task.not_before} /><small><${Moment} at=${task.not_before} form="short" /></small>`
  : html`<${Moment} at=${task.ended_at ?? task.started_at ?? task.created_at} />`);

const columns = (onMenu) => [
  {key: 'task_id', label: '#', number: true, sort: true, most: true},
  {key: 'status', label: 'Status', sort: true, cell: (task) => html`<${Standing} task=${task} />`},
  {key: 'description', label: 'Task', what: true, cell: (task) => html`<${What} task=${task} />`},
  {key: 'priority', label: 'Priority', number: true, minor: true, sort: true, most: true},
  {key: 'iteration_count', label: 'Iterations', number: true, minor: true, sort: true, most: true},
  {key: 'cost', label: 'Cost', number: true, minor: true, sort: true, most: true,
    cell: ({spent}) => (spent.model_calls ? html`<${Money} usd=${spent.cost_usd} unpriced=${spent.unpriced} />` : '–')},
  {key: 'commit', label: 'Commit', minor: true,
    cell: ({commit}) => (commit ? html`<code>${commit.slice(0, 8)}</code>` : '–')},
  {key: 'ended_at', label: 'When', minor: true, sort: true, most: true,
    cell: (task) => html`<${When} task=${task} />`},
  {key: 'menu', label: html`<span class="unseen">Actions</span>`, cell: (task) => html`
    <button type="button" class="bare menu-button" aria-label=${`Actions for task ${task.task_id}`} aria-haspopup="menu"
      onClick=${(event) => onMenu(task, event.currentTarget)}>⋯</button>`},
];

/** The menu of actions on one task. It opens next to its button, above all other elements. */
function RowMenu({at, onDone}) {
  const box = useRef(null);
  const task = at.value?.task;
  useSignalEffect(() => {
    if (!at.value || !box.current) return;
    const {right, bottom} = at.value.by.getBoundingClientRect();
    box.current.showPopover();
    const {offsetWidth: width, offsetHeight: height} = box.current;
    box.current.style.left = `${Math.max(4, right - width)}px`;
    box.current.style.top = `${Math.max(4, Math.min(bottom + 2, innerHeight - height - 4))}px`;
    box.current.querySelector('a, button')?.focus();
  });
  const toggled = (event) => {
    if (event.newState !== 'closed') return;
    at.peek()?.by.focus();
    at.value = null;
  };
  const act = (work) => async () => {
    box.current.hidePopover();
    await work();
    onDone();
  };
  const move = (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    const items = [...box.current.children];
    items.at((items.indexOf(document.activeElement) + step) % items.length).focus();
  };
  const fits = (action) => FITTING[action].includes(task.status);
  const item = (label, work) => html`<${Button} sends kind="bare" role="menuitem" onClick=${act(work)}>${label}<//>`;
  return html`<div popover="auto" class="row-menu" ref=${box} role="menu" onToggle=${toggled} onKeyDown=${move}
    aria-label=${task ? `Task ${task.task_id}` : 'Task'}>${task ? html`
    <a href=${`/task/${task.task_id}`} role="menuitem">Open</a>
    ${fits('cancel') && !task.cancel_requested ? item('Cancel', () => cancelOne(task)) : null}
    ${fits('retry') ? item('Retry', () => retryOne(task)) : null}
    ${fits('prioritise') ? item('Priority…', () => prioritiseOne(task)) : null}` : null}
  </div>`;
}

/**
 * The bar with actions on all chosen tasks. It stays at the lower edge of the window while the list extends below it.
 */
function Bulk({list, chosen, all}) {
  const {total, rows} = list.found.value;
  const count = all.value ? total : chosen.value.size;
  if (!count) return null;
  const isWhole = !all.value && total > rows.length && rows.every(({task_id: id}) => chosen.value.has(id));
  const clear = () => {
    all.value = false;
    chosen.value = new Set();
  };
  const run = (action) => async () => {
    const ids = [...chosen.peek()].sort((one, other) => one - other);
    const which = all.peek() ? {filter: filterOf(list.wanted.peek())} : {ids};
    if (!await actOnMany(action, which)) return;
    clear();
    list.reload();
  };
  return html`<div class="bulk" role="region" aria-label="Chosen tasks">
    <b aria-live="polite">${all.value ? `All ${counted(count, 'task')} that match` : `${counted(count, 'task')} chosen`}</b>
    ${isWhole ? html`<${Button} kind="bare small" onClick=${() => { all.value = true; }}>
      Choose all ${total} that match<//>` : null}
    <span class="actions">
      <${Button} sends onClick=${run('cancel')}>Cancel<//>
      <${Button} sends onClick=${run('retry')}>Retry<//>
      <${Button} sends onClick=${run('prioritise')}>Priority…<//>
      <${Button} kind="bare" onClick=${clear}>Clear<//>
    </span></div>`;
}

function NoRows({list}) {
  if (isFiltered(list.wanted.value)) {
    const clear = () => list.want({status: [], q: '', kind: '', repo: '', since: '', until: ''});
    return html`<${Empty}>No task matches. <${Button} kind="bare small" onClick=${clear}>Show all tasks<//><//>`;
  }
  return html`<${Empty}>Nothing here yet. Describe a task, add one to <code>tasks.yaml</code>, or run
    <code>${typed('"Create a FastAPI health check endpoint"')}</code>.<//>`;
}

/** The table with its controls. It requires that the list is loaded. */
function Rows({list}) {
  const {rows, total, next} = list.found.value;
  const [chosen, all, menu] = [useSignal(new Set()), useSignal(false), useSignal(null)];
  const order = useComputed(() => {
    const {sort, order: way} = list.wanted.value;
    return {key: COLUMNS_OF[sort] ?? sort, down: way === 'desc'};
  });
  const shown = useMemo(() => columns((task, by) => { menu.value = {task, by}; }), []);
  useEffect(() => { // never act on rows that are no longer shown
    all.value = false;
    chosen.value = new Set();
  }, [list.wanted.value]);
  const sorting = useMemo(() => ({
    get value() { return order.value; },
    set value(asked) {
      const sort = asked ? SORTS[asked.key] ?? asked.key : 'id';
      list.want({sort, order: !asked || asked.down ? 'desc' : 'asc'});
    },
  }), []);
  const button = (row, body) => body.querySelector(`[data-key="${row.task_id}"] .menu-button`);
  const byKey = {m: ['actions for the row', (row, body) => button(row, body)?.click()]};
  if (!rows.length) return html`<${NoRows} list=${list} />`;
  return html`<div class="queue-rows">
    <${Table} label="Tasks" rows=${rows} columns=${shown} keyOf=${(task) => task.task_id} order=${sorting} served
      chosen=${chosen} onOpen=${open} rowKeys=${byKey} />
    <p class="end"><span class="hint">${rows.length < total ? `${rows.length} of ` : ''}${counted(total, 'task')}</span>
      ${next ? html`<${Button} kind="small" onClick=${list.more}>Show more<//>` : null}</p>
    <${Bulk} list=${list} chosen=${chosen} all=${all} />
    <${RowMenu} at=${menu} onDone=${list.reload} />
  </div>`;
}

/** The list of tasks. @param {{above: (list: object) => any}} props `above` draws content above the filter */
export function Queue({above}) {
  const list = useMemo(listOfTasks, []);
  useEffect(() => {
    list.begin();
    return whenever(KINDS, list.reload, PAUSE_MS);
  }, []);
  const found = list.found.value;
  return html`<${Card} title="Tasks" id="queue" class="queue">
    ${above(list)}
    <${Filter} list=${list} />
    ${list.error.value ? html`<${Fault} error=${list.error.value} retry=${list.reload} />` : null}
    ${found ? html`<${Rows} list=${list} />`
      : list.error.value ? null : html`<p class="empty" aria-busy="true">…</p>`}
    <${AskPriority} />
  <//>`;
}
