// The tasks of all nodes of the hub, with a filter by status, links to their pages on their nodes, and controls.

import {useData} from '../../app/api.js';
import {Button, Card, Empty, Fault, Moment, Pill} from '../../app/parts.js';
import {FITTING, cancelOne, prioritiseOne, retryOne} from '../../app/queue_acts.js';
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

function Steer({task, reload, off}) {
  const fits = (action) => FITTING[action].includes(task.status);
  const named = {...task, task_id: task.id};
  const way = {path: `/api/hub/tasks/${task.id}`, after: reload};
  const item = (what, onClick) => html`<${Button} sends kind="small" disabled=${off} aria-label=${`${what} task ${task.id}`} onClick=${onClick}>${what}<//>`;
  return html`<div class="steer">
    ${fits('cancel') ? task.cancel_requested ? html`<span class="hint">ends soon</span>` : item('Cancel', () => cancelOne(named, way)) : null}
    ${fits('retry') ? item('Retry', () => retryOne(named, undefined, way)) : null}
    ${fits('prioritise') ? item(`Priority ${task.priority}`, () => prioritiseOne(named, way)) : null}
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
