// Causes of failed tasks, one row for each cause. Settling a cause retries all tasks that failed for it.

import {fault, post} from './api.js';
import {ModelField} from './model_field.js';
import {Button, Card, Field} from './parts.js';
import {status, toast} from './shell.js';
import {counted, words} from './text.js';
import {html, useState} from './ui.js';

const SHOWN = 6;

const Task = ({task}) => html`<li><a href=${`/task/${task.task_id}`} title=${task.reason}><span class="number">#${task.task_id}</span> ${task.title}</a></li>`;

/** Report how many tasks were retried, which new tasks replace them, and why other tasks were not retried. */
function tell({tasks}) {
  const done = tasks.filter(({ok}) => ok);
  const forks = done.filter(({task_id: from, as_task: to}) => from !== to);
  const said = forks.length
    ? html`${counted(done.length, 'task')} retried, as ${forks.slice(0, SHOWN).map(({as_task: id}) => html`<a key=${id} href=${`/task/${id}`}>#${id}</a> `)}`
    : `${counted(done.length, 'task')} retried.`;
  if (done.length) toast(said, 'good');
  const [first] = tasks.filter(({ok}) => !ok);
  if (first) toast(`${counted(tasks.length - done.length, 'task')} not retried. #${first.task_id}: ${first.error}`, 'bad');
}

async function settle(cause, span, what, onDone) {
  const answer = await post(`/api/causes/${cause.id}/retry`, {...span, ...what});
  if (!answer.ok) return fault(answer);
  tell(answer.data);
  status.reload();
  await onDone();
  return '';
}

/**
 * Form in which the owner gives the remedy for a cause: a note, a package or a model. Fields left empty change nothing.
 */
function Settle({cause, span, onDone, close}) {
  const [form, setForm] = useState({note: '', package: cause.module, model: ''});
  const [error, setError] = useState('');
  const change = (name) => (event) => setForm({...form, [name]: event.target.value});
  const send = async (event) => {
    event?.preventDefault();
    const given = Object.fromEntries(Object.entries(form).filter(([, text]) => text.trim()));
    const why = await settle(cause, span, given, onDone);
    setError(why);
    if (!why) close();
  };
  return html`<form class="settle" onSubmit=${send} aria-label="Resolve this cause">
    <${Field} as="textarea" rows="2" label="Note" maxlength="4000" value=${form.note} onInput=${change('note')} hint="Added to the text of each task; it overrides the task." />
    <div class="row">
      <${Field} label="Allow a package" value=${form.package} onInput=${change('package')} spellcheck="false" autocomplete="off"
        hint=${cause.module ? 'The module that was missing; change it if its package has another name.' : undefined} />
      <${ModelField} value=${form.model} onChange=${change('model')} hint="Each task continues as a fork." />
    </div>
    ${error ? html`<p class="error" role="alert">${error}</p>` : null}
    <div class="end"><${Button} onClick=${close}>Discard<//><${Button} sends kind="main" onClick=${send}>Resolve and retry ${counted(cause.count, 'task')}<//></div>
  </form>`;
}

function Cause({cause, span, onDone}) {
  const [isOpen, setOpen] = useState(false);
  const retry = async () => {
    const why = await settle(cause, span, {}, onDone);
    if (why) toast(why, 'bad');
  };
  return html`<li class="cause" data-cause=${cause.id}>
    <div class="cause-head"><b class="number">${cause.count}</b>
      <p><code>${cause.title}</code> ${cause.ending ? html`<span class="hint">${words(cause.ending)}</span>` : null}</p>
      <span class="actions"><${Button} kind="small" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>Resolve…<//>
        <${Button} sends kind="small" onClick=${retry}>Retry ${cause.count === 1 ? 'it' : `all ${cause.count}`}<//></span></div>
    <details open=${cause.count === 1}><summary>${counted(cause.count, 'task')}</summary>
      <ul class="failed-tasks">${cause.tasks.slice(0, SHOWN).map((task) => html`<${Task} key=${task.task_id} task=${task} />`)}
        ${cause.count > SHOWN ? html`<li class="hint">${counted(cause.count - SHOWN, 'more task')}</li>` : null}</ul></details>
    ${isOpen ? html`<${Settle} cause=${cause} span=${span} onDone=${onDone} close=${() => setOpen(false)} />` : null}
  </li>`;
}

/**
 * A card with the causes of failed tasks.
 * @param {{causes: object[], since?: string, until?: string, onDone: () => any}} props `causes` are rows of the brief
 * or of `/api/causes`; `since` and `until` limit which tasks are retried
 */
export function Causes({causes, more, since, until, onDone}) {
  const span = Object.fromEntries(Object.entries({since, until}).filter(([, bound]) => bound));
  return causes.length ? html`<${Card} title="Top failures" id="causes">
    <ul class="plain causes">${causes.map((cause) => html`<${Cause} key=${cause.id} cause=${cause} span=${span} onDone=${onDone} />`)}</ul>
    ${more ? html`<p class="dim">and ${more} other causes</p>` : null}<//>` : null;
}
