// Sends a message to an open task. From then on, every request to its model contains the message.

import {fault, post} from '../../app/api.js';
import {Button, Check, Dialog, Field} from '../../app/parts.js';
import {toast} from '../../app/shell.js';
import {html, signal, useState} from '../../app/ui.js';

const MAX_CHARS = 4000;

/** True while the form for a message is open. */
const saying = signal(false);

/** The button that opens the form. For a running task, its label says that the message interrupts. */
export const SayButton = ({task}) => html`
  <${Button} sends onClick=${() => { saying.value = true; }}>${task.status === 'running' ? 'Interrupt and say…' : 'Say…'}<//>`;

/** The dialog with the form. A page contains one instance. */
export function Say({task, reload}) {
  const close = () => { saying.value = false; };
  return html`<${Dialog} open=${saying.value} title=${`Say something to task ${task.task_id}`} onClose=${close}>
    ${saying.value ? html`<${SayForm} task=${task} close=${close} reload=${reload} />` : null}<//>`;
}

function SayForm({task, close, reload}) {
  const runs = task.status === 'running';
  const [text, setText] = useState('');
  const [interrupts, setInterrupts] = useState(true);
  const [error, setError] = useState('');
  const send = async () => {
    const answer = await post(`/api/task/${task.task_id}/say`, {text, interrupt: interrupts});
    if (!answer.ok) return setError(fault(answer));
    close();
    reload();
    return toast(answer.data.interrupted ? 'Sent. The model restarts its reply with your message.' : 'Sent. It is part of the next request to a model.', 'good');
  };
  const onKeyDown = (event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && text.trim()) send(); };
  return html`
    <${Field} as="textarea" label="What the model should know or do differently" rows="4" maxlength=${MAX_CHARS} value=${text}
      autofocus onInput=${(event) => setText(event.target.value)} onKeyDown=${onKeyDown}
      hint="It overrides the task where they differ, and every request from now on contains it." />
    ${runs ? html`<${Check} label="Interrupt the reply that is being written" checked=${interrupts} onChange=${(event) => setInterrupts(event.target.checked)} />` : null}
    ${error ? html`<p class="error" role="alert">${error}</p>` : null}
    <footer><${Button} onClick=${close}>Say nothing<//>
      <${Button} sends kind="main" disabled=${!text.trim()} onClick=${send}>${runs && interrupts ? 'Interrupt and say' : 'Say'}<//></footer>`;
}
