// One question of a task, with controls for the owner's decision.

import {Button} from './forms.js';
import {Moment} from './marks.js';
import {act} from './state.js';
import {words} from './text.js';
import {html, useState} from './ui.js';

/**
 * An open question with the buttons that decide it.
 * @param {{ask: object, onDone: () => any, withTask?: boolean}} props `ask` is a row of `/api/approvals`; `withTask`
 * shows a link to its task
 */
export function Ask({ask, onDone, withTask = true}) {
  const [answer, setAnswer] = useState('');
  const isQuestion = ask.kind === 'question';
  const decide = (granted) => async () => {
    await act(`/api/approvals/${ask.approval_id}`, '', {granted, answer});
    await onDone();
  };
  return html`<li data-approval=${ask.approval_id}>
    <p class="question">${ask.question}</p>
    <p class="hint">${withTask ? html`<a href=${`/task/${ask.task_id}`}>#${ask.task_id}</a> · ` : null}${words(ask.kind)}
      ${ask.subject && !isQuestion ? html` · <code>${ask.subject}</code>` : null} · <${Moment} at=${ask.asked_at} />
      ${ask.assumed_at ? html` · assumed <${Moment} at=${ask.assumed_at} />: <b>${ask.default}</b>` : null}</p>
    <div class="actions">
      <input type="text" aria-label=${isQuestion ? 'Answer' : 'Note'} maxlength="2000"
        placeholder=${isQuestion ? ask.default : 'note (optional)'} value=${answer}
        onInput=${(event) => setAnswer(event.target.value)} />
      <${Button} sends kind="main" onClick=${decide(true)}>${isQuestion ? (answer.trim() || !ask.default ? 'Answer' : 'Go with it') : 'Approve'}<//>
      <${Button} sends onClick=${decide(false)}>${isQuestion ? 'Decline' : 'Deny'}<//>
    </div>
  </li>`;
}
