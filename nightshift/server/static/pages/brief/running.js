// The running tasks, each with its phase, the live text of the model, the last reply and the last tool calls.

import {useData} from '../../app/api.js';
import {Card, Dot, Empty, Span} from '../../app/parts.js';
import {counted, firstLine, words} from '../../app/text.js';
import {classes, html} from '../../app/ui.js';
import {Writing, callOf} from '../../app/writing.js';

const TAIL = 600;
const TOOLS = 3;

/** Return the end of a text, because the newest part of a reply is at its end. */
const tail = (text) => (text.length > TAIL ? `…${text.slice(-TAIL)}` : text);

const Tool = ({call}) => html`<li class=${classes({failed: !call.ok})}><code>${call.brief}</code></li>`;

/**
 * Choose the step to show: the unfinished step if it has a reply or tool calls, or else the last step with model calls.
 */
function telling({running, tries}) {
  if (running.calls || running.tools) return {...running, isOpen: true};
  return tries.flatMap((each) => each.steps).findLast((step) => step.calls) ?? null;
}

/**
 * The newest reply and the last tool calls of a step, with live updates for the unfinished step. While the model writes
 * the next reply, the live text replaces the last reply.
 */
function Reply({task, step, isWriting}) {
  const path = `/api/task/${task}/step/${step.attempt}/${step.step_no}`;
  const detail = useData(path, {}, step.isOpen ? (line) => line.task_id === task : undefined);
  const said = isWriting ? '' : detail.data?.calls.at(-1)?.parts.findLast((part) => part.role === 'reply')?.said.text;
  const tools = detail.data?.tools.slice(-TOOLS) ?? [];
  return html`${isWriting ? null : html`<p class="hint">${step.isOpen ? 'Last reply' : `Last reply (${words(step.phase)})`}</p>`}
    ${tools.length ? html`<ul class="plain tool-lines" aria-label="Last tool calls">${tools.map((each) => html`<${Tool} key=${`${each.call_no}-${each.seq}`} call=${each} />`)}</ul>` : null}
    ${said ? html`<pre class="wrap said" tabindex="0" aria-label="Last reply">${tail(said)}</pre>` : null}`;
}

function Work({worker}) {
  const task = worker.task_id;
  const course = useData(`/api/task/${task}/timeline`, {}, (line) => line.task_id === task);
  const running = course.data?.running;
  const step = running ? telling(course.data) : null;
  const call = running ? callOf(task, running) : null;
  return html`<li class="work" data-task=${task}>
    <p class="what"><${Dot} kind="busy" /> <a href=${`/task/${task}`}><span class="number">#${task}</span> ${firstLine(worker.description, 160)}</a></p>
    <p class="hint">${worker.name} · ${worker.phase ? words(worker.phase) : 'beginning'}${worker.iteration ? ` · iteration ${worker.iteration}` : ''}
      ${worker.since ? html` · <${Span} since=${worker.since} />` : null}</p>
    ${worker.last_line || !call ? html`<p class="line">${worker.last_line ? firstLine(worker.last_line, 200) : 'Waiting for the first reply.'}</p>` : null}
    ${call ? html`<${Writing} call=${call} small />` : null}
    ${step ? html`<${Reply} key=${`${step.attempt}-${step.step_no}`} task=${task} step=${step} isWriting=${Boolean(call?.parts.length)} />` : null}
  </li>`;
}

/** A card with all running tasks. */
export function Running({workers}) {
  const busy = (workers ?? []).filter((worker) => worker.task_id !== null);
  const idle = (workers?.length ?? 0) - busy.length;
  return html`<${Card} title="Running now" id="running" hint=${html`<a href="/dashboard">Workers</a>`}>
    ${busy.length ? html`<ul class="plain">${busy.map((worker) => html`<${Work} key=${`${worker.name}-${worker.task_id}`} worker=${worker} />`)}</ul>`
    : html`<${Empty}>Nothing is running${idle ? `; ${counted(idle, 'worker waits', 'workers wait')} for a task` : ''}.<//>`}
  <//>`;
}
