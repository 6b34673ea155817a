// A dialog in which the owner enters the priority of tasks.

import {Button} from './forms.js';
import {Dialog} from './dialogs.js';
import {html, signal} from './ui.js';

/** The question that the dialog shows, as `{title, value, answer}`, or null. */
const asked = signal(null);

/** Ask the owner for a priority. @returns {Promise<number|null>} null if the owner closed the dialog */
export const priorityFor = (title, value) => new Promise((answer) => { asked.value = {title, value, answer}; });

/** Shows the question of `priorityFor`. A page that uses `priorityFor` must contain one instance. */
export function AskPriority() {
  const question = asked.value;
  const reply = (number) => {
    asked.value = null;
    question?.answer(number);
  };
  const send = (event) => {
    event.preventDefault();
    reply(Number(new FormData(event.target).get('number')));
  };
  return html`<${Dialog} open=${question !== null} title=${question?.title ?? ''} onClose=${() => reply(null)}>
    <form class="ask-number" onSubmit=${send}>
      <label>Priority <input type="number" name="number" step="1" min="-1000000" max="1000000" required autofocus
        defaultValue=${question?.value ?? 1} /></label>
      <p class="hint">Tasks with a higher number start sooner; the default is 1.</p>
      <footer><${Button} onClick=${() => reply(null)}>Keep it<//><${Button} sends type="submit" kind="main">Set priority<//></footer>
    </form>
  <//>`;
}
