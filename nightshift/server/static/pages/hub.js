// The page of the hub: the machines that share one queue, and the tasks of all these machines.

import {useData} from '../app/api.js';
import {Button, Card, Empty, Loaded, Meter, Moment, Pill} from '../app/parts.js';
import {AskPriority} from '../app/priority.js';
import {offerUndo} from '../app/queue_acts.js';
import {act, mount} from '../app/shell.js';
import {Table} from '../app/table.js';
import {counted} from '../app/text.js';
import {html, useEffect, useRef} from '../app/ui.js';
import {Tasks, web} from './hub/tasks.js';

const LOOK_MS = 4000;
/** Maximum number of polls in a row that are skipped because a request is still unanswered. */
const PATIENCE = 3;
const KIND = {up: 'ok', draining: 'draining', lost: 'bad', removed: 'cancelled'};

/** Return the state of the hub. While the hub cannot be reached, the last known nodes and counts are kept. */
function useLast(data) {
  const last = useRef(null);
  if (data?.reachable) last.current = data;
  return data && !data.reachable && last.current ? {...last.current, reachable: false, reason: data.reason} : data;
}

const Away = ({hub}) => (hub.reachable ? null : html`<section class="notice away-hub" aria-label="The hub is away">
  <p><b>The hub does not answer.</b> This node finishes what it has; results are handed in later.
    ${hub.nodes.length ? ' Nodes and tasks are shown as last known.' : ''}</p>
  <p class="hint">${hub.reason}</p></section>`);

function Paused({hub, reload}) {
  if (hub.paused === null) return null;
  return html`<p class="notice paused-hub" role="status">No node takes a task${hub.paused ? html`: <b>${hub.paused}</b>` : ''}. Running tasks continue.
    <${Button} sends kind="main small" disabled=${!hub.reachable} onClick=${() => act('/api/hub/resume', 'Nodes take tasks again.').then(reload)}>Resume all nodes<//></p>`;
}

function Pause({hub, reload}) {
  if (hub.paused !== null) return null;
  const pause = async () => {
    const answer = await act('/api/hub/pause', '', {reason: `paused on ${hub.own.name}`});
    if (answer.ok) offerUndo('No node takes a task until you resume.', '/api/hub/resume', undefined, reload);
    return reload();
  };
  return html`<${Button} sends kind="small" disabled=${!hub.reachable} title="no node takes a task; running tasks continue" onClick=${pause}>Pause all nodes<//>`;
}

async function drain(node, reload) {
  const path = `/api/hub/nodes/${encodeURIComponent(node.id)}/drain`;
  const draining = !node.draining;
  const answer = await act(path, '', {draining});
  const has = node.held ? `; it finishes ${counted(node.held, 'task')}` : '';
  if (answer.ok) offerUndo(draining ? `${node.name} takes nothing new${has}.` : `${node.name} takes tasks again.`, path, {draining: !draining}, reload);
  return reload();
}

const Name = ({node, isOwn}) => html`${isOwn ? html`<a href="/dashboard"><b>${node.name}</b></a> <small class="hint">this one</small>`
  : web(node.url) ? html`<a href=${web(node.url)} rel="noreferrer"><b>${node.name}</b></a>` : html`<b>${node.name}</b>`}`;

const State = ({node}) => html`<${Pill} status=${KIND[node.state]}>${node.state}<//>
  ${node.state === 'lost' ? html`<small>seen <${Moment} at=${node.seen_at} />${node.draining ? ', draining' : ''}</small>`
    : node.says ? html`<small>${node.says}</small>` : null}`;

function Nodes({hub, reload}) {
  const columns = [
    {key: 'name', label: 'Node', sort: true, cell: (node) => html`<${Name} node=${node} isOwn=${node.id === hub.own.id} />`},
    {key: 'state', label: 'State', sort: true, cell: (node) => html`<${State} node=${node} />`},
    {key: 'busy', label: 'Busy', sort: true, cell: (node) => html`<span class="slots"><${Meter} value=${node.busy} most=${node.slots} low=${2} high=${2} label=${`Busy slots of ${node.name}`} /> ${node.busy} of ${node.slots}</span>`},
    {key: 'act', label: 'Steer', cell: (node) => (node.state === 'removed' ? null : html`<${Button} sends kind="small" disabled=${!hub.reachable}
      aria-label=${`${node.draining ? 'Let tasks go to' : 'Drain'} ${node.name}`} onClick=${() => drain(node, reload)}>${node.draining ? 'Take tasks' : 'Drain'}<//>`)},
    {key: 'labels', label: 'Labels', minor: true, cell: (node) => (node.labels.length
      ? html`<ul class="labels">${node.labels.map((label) => html`<li key=${label}>${label}</li>`)}</ul>` : html`<span class="none">–</span>`)},
    {key: 'version', label: 'Version', minor: true, sort: true},
    {key: 'seen_at', label: 'Last seen', minor: true, sort: true, most: true, cell: (node) => html`<${Moment} at=${node.seen_at} />`},
  ];
  return html`<${Table} rows=${hub.nodes} columns=${columns} keyOf=${(node) => node.id} label="Nodes" walk=${false} />`;
}

function summary({nodes}) {
  const belonging = nodes.filter(({state}) => state !== 'removed');
  const up = belonging.filter(({state}) => state !== 'lost');
  const sum = (key) => up.reduce((all, node) => all + node[key], 0);
  return `${up.length} of ${belonging.length} up, ${sum('busy')} of ${counted(sum('slots'), 'slot')} busy`;
}

function Whole({hub, reload}) {
  return html`<${Away} hub=${hub} /><${Paused} hub=${hub} reload=${reload} />
    <${Card} title="Nodes" hint=${hub.nodes.length ? summary(hub) : undefined} actions=${html`${web(hub.ui)
      ? html`<a href=${web(hub.ui)} rel="noreferrer">Temporal</a> ` : ''}<${Pause} hub=${hub} reload=${reload} />`}>
      ${hub.nodes.length ? html`<${Nodes} hub=${hub} reload=${reload} />`
    : html`<${Empty}>${hub.reachable ? 'No node has joined yet. A daemon with HUB_URL joins when it starts.' : 'Nodes are shown when the hub is back.'}<//>`}<//>
    ${hub.reachable || hub.nodes.length ? html`<${Tasks} hub=${hub} reload=${reload} />` : null}
    <${AskPriority} />`;
}

function Hub() {
  const found = useData('/api/hub');
  const {reload} = found;
  const hub = useLast(found.data);
  useEffect(() => {
    let skipped = 0;
    const again = setInterval(() => {
      if (document.hidden || (found.loading && skipped++ < PATIENCE)) return;
      skipped = 0;
      reload();
    }, LOOK_MS);
    return () => clearInterval(again);
  }, [found]);
  return html`<h1 class="unseen">Nodes</h1>
    <${Loaded} of=${found}>${() => html`<${Whole} hub=${hub} reload=${reload} />`}<//>`;
}

mount(Hub, {title: 'Nodes'});
