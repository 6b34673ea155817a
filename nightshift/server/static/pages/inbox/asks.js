// Open questions, each with its task, its default, the time when the default is assumed, and buttons. Several can be
// decided at once.

import {second} from '../../app/clock.js';
import {Button, Moment, Pill} from '../../app/parts.js';
import {counted, elapsed} from '../../app/text.js';
import {toggle} from '../../app/table.js';
import {classes, html, useSignal} from '../../app/ui.js';
import {decide, decideAll, draftOf, isQuestion} from './deciding.js';

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

function Ask({ask, walk, reload}) {
  const name = `ask-${ask.approval_id}`;
  const [kind, colour] = KINDS[ask.kind] ?? [ask.kind, ''];
  const isAt = walk.at.value === name;
  return html`<li id=${name} class=${classes('item', {at: isAt, chosen: walk.chosen.value.has(ask.approval_id)})}
    aria-current=${isAt ? 'true' : undefined} onClick=${() => { walk.at.value = name; }}>
    <p class="whose"><input type="checkbox" aria-label=${`Choose ask ${ask.approval_id}`} checked=${walk.chosen.value.has(ask.approval_id)}
        onChange=${() => toggle(walk.chosen, ask.approval_id)} />
      <${Pill} status=${colour}>${kind}<//> <a href=${`/task/${ask.task_id}`}><span class="number">#${ask.task_id}</span> ${ask.wanted}</a>
      <span class="hint"><${Moment} at=${ask.asked_at} /></span></p>
    <${Question} text=${ask.question} hasCode=${/^(test|setup):/.test(ask.subject)} />
    ${ask.subject && !isQuestion(ask) ? html`<p class="hint">Approving allows <code>${ask.subject}</code></p>` : null}
    ${ask.default ? html`<${Assumed} ask=${ask} />` : null}
    <${Acts} ask=${ask} reload=${reload} />
  </li>`;
}

function Several({asks, walk, reload}) {
  const remark = useSignal('');
  const ids = asks.map(({approval_id: id}) => id).filter((id) => walk.chosen.value.has(id));
  if (!ids.length) return null;
  const press = (granted) => async () => {
    if (await decideAll(ids, granted, remark.peek())) walk.chosen.value = new Set();
    await reload();
  };
  return html`<div class="several" role="group" aria-label="Decide the chosen asks">
    <b>${counted(ids.length, 'ask')} chosen</b>
    <input type="text" maxlength="2000" aria-label="Note for all" placeholder="note for all (optional)" value=${remark.value}
      onInput=${(event) => { remark.value = event.target.value; }} />
    <${Button} sends kind="main" onClick=${press(true)}>Approve all<//>
    <${Button} sends onClick=${press(false)}>Deny all<//>
    <${Button} kind="bare" onClick=${() => { walk.chosen.value = new Set(); }}>Choose none<//>
  </div>`;
}

/**
 * The list of open questions. @param {{asks: object[], walk: import('./walk.js').Walk, reload: () => Promise<void>}}
 * props
 */
export const Asks = ({asks, walk, reload}) => html`
  <${Several} asks=${asks} walk=${walk} reload=${reload} />
  <ul class="plain items">${asks.map((ask) => html`<${Ask} key=${ask.approval_id} ask=${ask} walk=${walk} reload=${reload} />`)}</ul>`;
