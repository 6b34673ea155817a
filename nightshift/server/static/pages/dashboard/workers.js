// A card for each worker: what the worker does now, for how long, and its last message.

import {onLine} from '../../app/live.js';
import {Button, Card, Count, Dot, Empty, Span, confirmed} from '../../app/parts.js';
import {act} from '../../app/shell.js';
import {firstLine, words} from '../../app/text.js';
import {classes, html, useEffect, useSignal} from '../../app/ui.js';

const TRACK = ['PLANNING', 'CODING', 'REVIEW', 'AUDIT', 'TESTING'];

async function restart(worker) {
  const isSure = worker.task_id === null || await confirmed({
    title: `Restart ${worker.name}?`,
    text: `Task ${worker.task_id} returns to the queue and continues from its last finished step.`,
    yes: 'Restart worker',
    no: 'Keep running',
  });
  if (isSure) await act(`/api/worker/${encodeURIComponent(worker.name)}/restart`, `${worker.name} is restarted.`);
}

/**
 * The phases of an iteration, with the current phase marked. Phases that only some tasks have are shown only while they
 * run.
 */
function Track({phase}) {
  const steps = TRACK.includes(phase) || !phase ? TRACK : [...TRACK, phase];
  const shown = steps.filter((each) => each === phase || !['REVIEW', 'AUDIT'].includes(each));
  return html`<ol class="track" aria-label=${phase ? `in ${words(phase)}` : 'starting'}>
    ${shown.map((each) => html`<li key=${each} class=${classes({now: each === phase})}>${words(each)}</li>`)}
  </ol>`;
}

function Busy({worker, line}) {
  return html`
    <p class="what"><a href=${`/task/${worker.task_id}`}><span class="number">#${worker.task_id}</span>
      ${' '}${firstLine(worker.description, 160)}</a></p>
    <${Track} phase=${worker.phase} />
    <p class="line" title=${line}>${line ? firstLine(line, 200) : ' '}</p>`;
}

function WorkerCard({worker, line}) {
  const isBusy = worker.task_id !== null;
  return html`<li class=${classes('worker', {busy: isBusy})} data-worker=${worker.name}>
    <div class="worker-head">
      <${Dot} kind=${isBusy ? 'busy' : ''} /><b>${worker.name}</b>
      <span class="hint">${isBusy ? html`${worker.iteration ? `iteration ${worker.iteration}` : 'beginning'}
        ${worker.attempt > 1 ? ` · attempt ${worker.attempt}` : ''}` : 'idle'}</span>
      ${isBusy && worker.since ? html`<span class="time"><${Span} since=${worker.since} /></span>` : null}
    </div>
    ${isBusy ? html`<${Busy} worker=${worker} line=${line || worker.last_line} />`
      : html`<p class="empty">Waiting for a task.</p>`}
    <div class="worker-end"><span class="hint"><${Count} value=${worker.done} /> done,
      ${' '}<${Count} value=${worker.failed} /> failed</span>
      <${Button} sends kind="bare small" onClick=${() => restart(worker)} aria-label=${`Restart ${worker.name}`}>Restart<//></div>
  </li>`;
}

/**
 * Return the newest log message of each worker. The live stream delivers a message a moment before the daemon's status
 * contains it.
 */
function useLastLines() {
  const lines = useSignal({});
  useEffect(() => onLine(({worker, message, level}) => {
    if (worker && message && level !== 'DEBUG') lines.value = {...lines.peek(), [worker]: message};
  }), []);
  return lines.value;
}

/** Return the number of cards in a row, for a screen that is wide enough. */
const across = (count) => (count === 4 ? 2 : Math.min(3, count));

export function Workers({workers}) {
  const lines = useLastLines();
  return html`<${Card} title="Workers" hint=${workers.length ? null : 'none yet'} class="workers-card">
    ${workers.length ? html`<ul class="workers" style=${{'--across': across(workers.length)}}>${workers.map((worker) => html`
      <${WorkerCard} key=${worker.name} worker=${worker} line=${lines[worker.name]} />`)}</ul>`
    : html`<${Empty}>No worker is running yet; the daemon is starting.<//>`}
  <//>`;
}
