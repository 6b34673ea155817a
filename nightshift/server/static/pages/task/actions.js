// Actions on a task: send a message, cancel, retry, fork.

import {fault, post} from '../../app/api.js';
import {ModelField} from '../../app/model_field.js';
import {Button, Dialog, Field} from '../../app/parts.js';
import {cancelOne, retryOne} from '../../app/queue_acts.js';
import {toast} from '../../app/shell.js';
import {html, signal, useState} from '../../app/ui.js';
import {Say, SayButton} from './say.js';

/**
 * The step from which the fork in the dialog starts: `{attempt, step_no}`, or `{}` for the last step. Null while the
 * dialog is closed.
 */
export const forking = signal(null);

const UNENDED = new Set(['queued', 'scheduled', 'blocked', 'shared', 'running', 'waiting']);

/** The buttons at the right of the page's head, with their dialogs. */
export function Actions({task, course, reload}) {
  const canFork = course?.tries.some((each) => each.steps.length);
  return html`<div class="actions">
    ${canFork ? html`<${Button} sends onClick=${() => { forking.value = {}; }}>Fork…<//>` : null}
    ${['failed', 'cancelled'].includes(task.status) ? html`<${Button} sends kind="main" onClick=${() => retryOne(task)}>Retry<//>` : null}
    ${UNENDED.has(task.status) && !task.cancel_requested ? html`<${SayButton} task=${task} />` : null}
    ${UNENDED.has(task.status) && !task.cancel_requested ? html`<${Button} sends kind="danger" onClick=${() => cancelOne(task)}>Cancel<//>` : null}
    <${Fork} task=${task} course=${course} reload=${reload} />
    <${Say} task=${task} reload=${reload} />
  </div>`;
}

/** The dialog that adds a new task which starts from a step of this task. */
function Fork({task, course, reload}) {
  const from = forking.value;
  const close = () => { forking.value = null; };
  return html`<${Dialog} open=${from !== null} title=${`Fork task ${task.task_id}`} onClose=${close}>
    ${from ? html`<${ForkForm} task=${task} course=${course} from=${from} close=${close} reload=${reload} />` : null}<//>`;
}

function ForkForm({task, course, from, close, reload}) {
  const steps = course.tries.flatMap((each) => each.steps);
  const last = steps.at(-1)?.step_no ?? 0;
  const [form, setForm] = useState({step: String(from.step_no ?? last), note: '', model: ''});
  const [error, setError] = useState('');
  const change = (name) => (event) => setForm({...form, [name]: event.target.value});
  const attempt = from.attempt ?? course.attempt;
  const send = async () => {
    const body = {attempt, step_no: Number(form.step), note: form.note, ...(form.model ? {model: form.model} : {})};
    const answer = await post(`/api/task/${task.task_id}/fork`, body);
    if (!answer.ok) return setError(fault(answer));
    close();
    reload();
    const made = answer.data.task_id;
    return toast(html`Forked as <a href=${`/task/${made}`}>task ${made}</a>, ${answer.data.status}.`, 'good');
  };
  return html`
    <p>Adds a task that starts from the files and the plan after a step. This task stays as it is.</p>
    <${Field} as="select" label=${`After step (attempt ${attempt})`} value=${form.step} onChange=${change('step')}>
      ${steps.map((step) => html`<option value=${step.step_no}>${step.step_no} · ${step.phase.toLowerCase()}, iteration ${step.iteration} · ${step.note.slice(0, 60)}</option>`)}<//>
    <${ModelField} value=${form.model} onChange=${change('model')} hint="It is asked first in every phase; the other models are asked if it does not answer." />
    <${Field} as="textarea" label="Note" rows="3" maxlength="4000" value=${form.note} onInput=${change('note')}
      hint="Added to the task's text. With a note, the fork continues with coding, whichever step this was." />
    ${error ? html`<p class="error" role="alert">${error}</p>` : null}
    <footer><${Button} onClick=${close}>Do not fork<//><${Button} sends kind="main" onClick=${send}>Fork task<//></footer>`;
}
