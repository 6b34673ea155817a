// One open question with its task, its default, the time when the default is assumed, and controls for the decision.

import {second} from './clock.js';
import {decide, draftOf, isQuestion} from './deciding.js';
import {Button, Moment, Pill} from './parts.js';
import {elapsed} from './text.js';
import {classes, html} from './ui.js';

const KINDS = {question: ['question', 'running'], package: ['package', 'checkpoint'], finding: ['finding', 'waiting'], budget: ['budget', 'waiting'], environment: ['environment', 'checkpoint'], setup: ['setup script', 'checkpoint']};

/** The time until the default is assumed. It counts down. */
function Countdown({at}) {
  const left = (new Date(at) - second.value) / 1000;
  return html`<span class="countdown number">${left > 0 ? `in ${elapsed(left)}` : 'any moment'}</span>`;
}

const Assumed = ({ask}) => html`<p class="assumed">${ask.assumed_at
  ? html`Assumed <${Countdown} at=${ask.assumed_at} />: ` : 'Assumed when you decline: '}<b>${ask.default}</b></p>`;

function Acts({ask, reload}) {
  const draft = draftOf(ask.approval_id);
  const asks = isQuestion(ask);
  const press = (granted) => async () => {
    await decide(ask, granted, draft.peek());
    await reload();
  };
  const typed = (event) => {
    if (event.key === 'Escape') event.target.blur();
    if (event.key === 'Enter' && asks && draft.peek().trim()) press(true)();
  };
  return html`<div class="acts">
    <input type="text" maxlength="2000" aria-label=${asks ? 'Answer' : 'Note'} value=${draft.value}
      placeholder=${asks ? ask.default || 'your answer' : 'note (optional)'} onKeyDown=${typed}
      onInput=${(event) => { draft.value = event.target.value; }} />
    <${Button} sends kind="main" onClick=${press(true)}>${asks ? (draft.value.trim() || !ask.default ? 'Answer' : 'Go with it') : 'Approve'}<//>
    <${Button} sends onClick=${press(false)}>${asks ? 'Decline' : 'Deny'}<//>
  </div>`;
}

/**
 * The text of a question. With `hasCode`, everything after the first paragraph is shown as code: the diff of a changed
 * test, or a setup script.
 */
function Question({text, hasCode}) {
  const end = hasCode ? text.indexOf('\n\n') : -1;
  if (end < 0) return html`<p class="question">${text}</p>`;
  return html`<p class="question">${text.slice(0, end)}</p><pre class="wrap">${text.slice(end + 2)}</pre>`;
}

/**
 * An open question with the buttons that decide it.
 * @param {{ask: object, reload: () => any, withTask?: boolean, choice?: any, more?: object}} props `ask` is a row of
 * `/api/approvals`; `withTask` shows a link to its task; `choice` stands in front; `more` are attributes of the row
 */
export function Ask({ask, reload, withTask = true, choice = null, more = {}}) {
  const [kind, colour] = KINDS[ask.kind] ?? [ask.kind, ''];
  return html`<li ...${more} class=${classes('item', more.class)}>
    <p class="whose">${choice}<${Pill} status=${colour}>${kind}<//>
      ${withTask ? html` <a href=${`/task/${ask.task_id}`}><span class="number">#${ask.task_id}</span> ${ask.wanted}</a>` : null}
      <span class="hint"><${Moment} at=${ask.asked_at} /></span></p>
    <${Question} text=${ask.question} hasCode=${/^(test|setup):/.test(ask.subject)} />
    ${ask.subject && !isQuestion(ask) ? html`<p class="hint">Approving allows <code>${ask.subject}</code></p>` : null}
    ${ask.default ? html`<${Assumed} ask=${ask} />` : null}
    <${Acts} ask=${ask} reload=${reload} />
  </li>`;
}
