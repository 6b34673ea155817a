// The morning brief: results since the owner last read the brief, running tasks, and the last ended tasks.

import {fault, post, useData} from '../app/api.js';
import {go} from '../app/boot.js';
import {Causes} from '../app/causes.js';
import {Forecast} from '../app/forecast.js';
import {forNow} from '../app/kept.js';
import {Button, Loaded} from '../app/parts.js';
import {UNDO_MS, mount, status, toast} from '../app/shell.js';
import {useKeys} from '../app/keys.js';
import {clock, day} from '../app/text.js';
import {html, useSignal} from '../app/ui.js';
import {Asks, Holds, Notices} from './dashboard/alerts.js';
import {Ended} from './brief/ended.js';
import {Running} from './brief/running.js';
import {Waiting} from './brief/waiting.js';

const KEPT = 'brief-since';
const SPANS = [['read', 'since I last read it'], ['night', 'last night'], ['today', 'today']];
const KINDS = ['task_submitted', 'task_moved', 'task_recovered', 'commit_recorded', 'integrated', 'discarded', 'reverted', 'reviewed', 'asked', 'answered',
  'model_replied'];

/** Format a time. For a time of today, the date is left out. */
function moment(text) {
  const at = new Date(text);
  const time = clock(at).slice(0, 5);
  return day(at) === day(Date.now()) ? time : `${day(at)} ${time}`;
}

/** Mark the brief as read up to a time, and offer to undo this. */
async function markRead(until, back, reload) {
  const answer = await post('/api/brief/read', {until});
  if (!answer.ok) return toast(fault(answer), 'bad');
  await reload();
  if (!back) return undefined;
  const undo = () => markRead(back, null, reload);
  return toast(html`Marked as read. The next brief starts here. <${Button} sends kind="bare small" onClick=${undo}>Undo<//>`, 'good', UNDO_MS);
}

function Search() {
  const search = (event) => {
    event.preventDefault();
    const q = new FormData(event.target).get('q').trim();
    if (q) go(`/tasks?${new URLSearchParams({q})}`);
  };
  return html`<form class="find" role="search" onSubmit=${search}><input type="search" name="q" data-search maxlength="200"
    placeholder="Find a task by its words, or #id" aria-label="Find a task" /></form>`;
}

function Head({brief, span, reload}) {
  const isRead = span.value === 'read';
  const read = () => markRead(brief.until, brief.read_at ?? brief.since, reload);
  const choose = ({target}) => {
    span.value = target.value;
    forNow.keep(KEPT, target.value);
  };
  useKeys({e: ['mark the brief as read', read]}, [brief.until]);
  return html`<header class="brief-head">
    <h1>${isRead && !brief.read_at ? 'The last 24 hours' : html`Since <time datetime=${brief.since}>${moment(brief.since)}</time>`}</h1>
    <label class="unseen" for="since">Since when</label>
    <select id="since" value=${span.value} onChange=${choose}>
      ${SPANS.map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select>
    <${Search} />
    <${Button} sends id="read" onClick=${read} title="the next brief starts here (e)">Mark as read<//>
  </header>`;
}

/**
 * One part of the brief's summary line, such as `9 failed (6 with the same cause)`, with its leading number emphasised.
 */
function Part({part}) {
  const [, figure, words] = part.text.match(/^(\$?[\d.,]+(?: \+ \?)?)(.*)$/) ?? [null, '', part.text];
  return html`<li data-topic=${part.topic}><a href=${part.address}><b>${figure}</b><span>${part.topic === 'cost' ? ' spent' : words}</span></a></li>`;
}

const Line = ({parts}) => html`<ul class="brief-line" aria-label="In brief">${parts.map((part) => html`<${Part} key=${part.topic} part=${part} />`)}</ul>`;

function Brief() {
  const span = useSignal(forNow.recall(KEPT) ?? 'read');
  const found = useData('/api/brief', span.value === 'read' ? {} : {since: span.value}, KINDS);
  const report = status.data;
  useKeys({n: ['a new task', () => go('/tasks#new')]});
  return html`<${Loaded} of=${found}>${(brief) => html`
      <${Head} brief=${brief} span=${span} reload=${found.reload} />
      <${Line} parts=${brief.parts} />
      <${Forecast} />
      ${report ? html`<${Holds} holds=${report.holds} /><${Notices} notices=${report.notices} />` : null}
      <div class="columns">
        <div><${Asks} /><${Causes} causes=${brief.causes} more=${brief.more_causes} since=${brief.since} until=${brief.until} onDone=${found.reload} /><${Waiting} /><${Ended} /></div>
        <div><${Running} workers=${report?.workers} /></div>
      </div>`}<//>`;
}

mount(Brief, {title: 'Brief'});
