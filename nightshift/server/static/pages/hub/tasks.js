// The tasks of all nodes of the hub, with a filter by status, links to their pages on their nodes, and controls.

import {useData} from '../../app/api.js';
import {Button, Card, Empty, Fault, Moment, Pill, confirmed} from '../../app/parts.js';
import {priorityFor} from '../../app/priority.js';
import {FITTING, offerUndo} from '../../app/queue_acts.js';
import {act} from '../../app/shell.js';
import {Table} from '../../app/table.js';
import {firstLine, grouped, words} from '../../app/text.js';
import {html, useEffect, useState} from '../../app/ui.js';

const ORDER = ['running', 'waiting', 'queued', 'scheduled', 'blocked', 'done', 'failed', 'cancelled'];
const LIMIT = 50;

/**
 * Return an address from another node if it is a web address, otherwise undefined. Addresses from other nodes are
 * untrusted.
 */
export const web = (url) => (/^https?:\/\//i.test(url ?? '') ? url : undefined);

/**
 * Return the address of a task's page, on this node (whose id is `here`) or on another node; undefined if there is no
 * page.
 */
function pageOf({node, node_task: number, node_page: there, origin, origin_task: first, origin_page: begun}, here) {
  if (number !== null && node !== null) return node === here ? `/task/${number}` : web(there);
  return first === null ? undefined : origin === here ? `/task/${first}` : web(begun);
}

async function cancel(task, reload) {
  const runs = task.status === 'running' || task.status === 'waiting';
  const untouched = task.attempt === 0 && !task.not_before && ['queued', 'blocked'].includes(task.status);
  const lost = runs ? `${task.node_name} ends it at its next safe point.` : task.attempt ? 'Its work so far is discarded.' : 'It has not started.';
  const sure = await confirmed({
    title: `Cancel task ${task.id} of the hub?`, yes: 'Cancel task', no: runs ? 'Keep running' : 'Keep task', danger: true,
    text: `${lost} Tasks that depend on it end with it. It can be retried later, from the beginning.`,
  });
  if (!sure) return;
  const path = `/api/hub/tasks/${task.id}`;
  const said = `Task ${task.id} ${runs ? 'will end at its next safe point' : 'is cancelled'}.`;
  const answer = await act(`${path}/cancel`, untouched ? '' : said);
  if (answer.ok && untouched) offerUndo(said, `${path}/retry`, undefined, reload);
  await reload();
}

async function retry(task, reload) {
  const path = `/api/hub/tasks/${task.id}`;
  const said = `Task ${task.id} is queued again.`;
  const answer = await act(`${path}/retry`, task.status === 'cancelled' ? '' : said);
  if (answer.ok && task.status === 'cancelled') offerUndo(said, `${path}/cancel`, undefined, reload);
  await reload();
}

async function prioritise(task, reload) {
  const priority = await priorityFor(`Priority of task ${task.id} of the hub`, task.priority);
  if (priority === null || priority === task.priority) return;
  const path = `/api/hub/tasks/${task.id}/priority`;
  const answer = await act(path, '', {priority});
  if (answer.ok) offerUndo(`Task ${task.id} has priority ${priority}.`, path, {priority: task.priority}, reload);
  await reload();
}

function Steer({task, reload, off}) {
  const fits = (action) => FITTING[action].includes(task.status);
  const item = (what, fn) => html`<${Button} sends kind="small" disabled=${off} aria-label=${`${what} task ${task.id}`} onClick=${() => fn(task, reload)}>${what}<//>`;
  return html`<div class="steer">
    ${fits('cancel') ? task.cancel_requested ? html`<span class="hint">ends soon</span>` : item('Cancel', cancel) : null}
    ${fits('retry') ? item('Retry', retry) : null}
    ${fits('prioritise') ? item(`Priority ${task.priority}`, prioritise) : null}
  </div>`;
}

const Where = ({task}) => (task.node_name ? html`<span class="where" title=${task.node_name}>${task.node_name}</span>`
  : html`<span class="where hint" title=${`submitted on ${task.origin_name}`}>from ${task.origin_name}</span>`);

function What({task, here}) {
  const page = pageOf(task, here);
  const title = firstLine(task.title) || '(no words)';
  const why = task.cause !== task.reason ? task.cause : task.ending && task.status === 'failed' ? [words(task.ending), task.reason].filter(Boolean).join(': ') : task.reason;
  const where = [task.repository, task.needs.length ? `needs ${task.needs.join(', ')}` : ''].filter(Boolean).join(' · ');
  return html`${page ? html`<a href=${page} rel="noreferrer">${title}</a>` : title}
    ${why ? html`<small title=${task.reason || why}>${firstLine(why)}</small>` : null}
    ${task.signed === 'not valid' ? html`<small class="bad"><b>Not signed by ${task.node_name}:</b> other nodes do not take this result over.</small>` : null}
    ${where ? html`<small>${where}</small>` : null}
    <small class="only-narrow"><${Where} task=${task} /></small>`;
}

const columnsOf = (reload, off, here) => [
  {key: 'id', label: 'Id', minor: true, cell: (task) => html`<span class="number">#${task.id}</span>`},
  {key: 'title', label: 'Task', what: true, cell: (task) => html`<${What} task=${task} here=${here} />`},
  {key: 'status', label: 'Status', cell: (task) => html`<${Pill} status=${task.status} />`},
  {key: 'node', label: 'Node', minor: true, cell: (task) => html`<${Where} task=${task} />`},
  {key: 'created_at', label: 'Created', minor: true, cell: (task) => html`<${Moment} at=${task.created_at} />`},
  {key: 'act', label: 'Steer', cell: (task) => html`<${Steer} task=${task} reload=${reload} off=${off} />`},
];

/** Buttons with the number of tasks in each status. Each button filters the tasks by its status. */
function Choices({counts, chosen, onChoose}) {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const item = (name, title, count) => html`<li key=${name}><button type="button" class="chip" aria-pressed=${String(name === chosen)}
    onClick=${() => onChoose(name)}>${title} <b>${grouped(count)}</b></button></li>`;
  return html`<ul class="chips" aria-label="Tasks by status">${item('', 'All', all)}
    ${ORDER.filter((name) => counts[name] || name === chosen).map((name) => item(name, words(name), counts[name] ?? 0))}</ul>`;
}

export function Tasks({hub, reload: reloadHub}) {
  const [status, setStatus] = useState(() => new URLSearchParams(location.search).get('status') ?? '');
  const [after, setAfter] = useState(null);
  const found = useData('/api/hub/tasks', {limit: LIMIT, ...(status ? {status} : {}), ...(after ? {after} : {})});
  const reload = async () => { await Promise.all([found.reload(), reloadHub()]); };
  // Reload the tasks each time that the state of the hub was polled.
  useEffect(() => { if (hub.reachable && !found.loading) found.reload(); }, [hub]);
  const choose = (name) => {
    setStatus(name);
    setAfter(null);
    history.replaceState(history.state, '', name ? `?status=${name}` : location.pathname);
  };
  const {data, error} = found;
  return html`<${Card} title="Tasks" hint="of all nodes">
    <${Choices} counts=${hub.counts} chosen=${status} onChoose=${choose} />
    ${error && hub.reachable ? html`<${Fault} error=${error} retry=${found.reload} />` : null}
    ${data?.tasks.length ? html`<${Table} rows=${data.tasks} columns=${columnsOf(reload, !hub.reachable, hub.own.id)} keyOf=${(task) => task.id} label="Tasks" served walk=${false} />`
    : data ? html`<${Empty}>${status ? `No task is ${words(status)}.` : 'There are no tasks yet. Tasks added on any node appear here.'}<//>` : null}
    ${data && (after || data.next_after) ? html`<div class="end">${after ? html`<${Button} kind="small" onClick=${() => setAfter(null)}>Newest<//>` : null}
      ${data.next_after ? html`<${Button} kind="small" onClick=${() => setAfter(data.next_after)}>Older<//>` : null}</div>` : null}
  <//>`;
}
