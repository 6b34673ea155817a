// What wants to be seen first: what holds tasks back, notices, and what waits for the owner.

import {fault, post, useData} from '../../app/api.js';
import {Button, Card, Moment, Prose} from '../../app/parts.js';
import {status, toast} from '../../app/shell.js';
import {counted, words} from '../../app/text.js';
import {html, useState} from '../../app/ui.js';

const SHOWN = 3;

/** What holds tasks back, and what lifts it. */
export const Holds = ({holds}) => holds.map((hold) => html`
  <p class="notice" key=${hold.source}>Held back (${hold.source}, <${Moment} at=${hold.since} />)${hold.reason ? `: ${hold.reason}` : ''}.
    ${' '}It goes on <${Prose} text=${hold.lifted_by} />.</p>`);

export const Notices = ({notices}) => notices.map((text) => html`<p class="notice" key=${text}><${Prose} text=${text} /></p>`);

function useDecision(ask, reload) {
  const [answer, setAnswer] = useState('');
  const decide = (granted) => async () => {
    const sent = await post(`/api/approvals/${ask.approval_id}`, {granted, answer});
    if (!sent.ok) toast(fault(sent), 'bad');
    await Promise.all([reload(), status.reload()]);
  };
  return {answer, setAnswer, decide};
}

function Ask({ask, reload}) {
  const {answer, setAnswer, decide} = useDecision(ask, reload);
  const isQuestion = ask.kind === 'question';
  return html`<li data-approval=${ask.approval_id}>
    <p class="question">${ask.question}</p>
    <p class="hint"><a href=${`/task/${ask.task_id}`}>#${ask.task_id}</a> · ${words(ask.kind)}
      ${ask.subject && !isQuestion ? html` · <code>${ask.subject}</code>` : null} · <${Moment} at=${ask.asked_at} />
      ${ask.assumed_at ? html` · assumed <${Moment} at=${ask.assumed_at} />: <b>${ask.default}</b>` : null}</p>
    <div class="actions">
      ${isQuestion ? html`<input type="text" aria-label="Answer" maxlength="2000" placeholder=${ask.default}
        value=${answer} onInput=${(event) => setAnswer(event.target.value)} />` : null}
      <${Button} kind="main" onClick=${decide(true)}>${isQuestion ? 'Answer' : 'Approve'}<//>
      <${Button} onClick=${decide(false)}>${isQuestion ? 'Decline' : 'Deny'}<//>
    </div>
  </li>`;
}

/** The first open asks; the others are in the inbox. */
export function Asks() {
  const open = useData('/api/approvals', {open: 1}, ['asked', 'answered', 'task_moved']);
  const asks = open.data?.approvals ?? [];
  if (!asks.length) return null;
  const more = asks.length - SHOWN;
  return html`<${Card} title="Waits for your decision" id="asks" class="asks"
    hint=${more > 0 ? html`<a href="/inbox">${counted(more, 'more', 'more')} in the inbox</a>` : null}>
    <ul class="plain">${asks.slice(0, SHOWN).map((ask) => html`<${Ask} key=${ask.approval_id} ask=${ask} reload=${open.reload} />`)}</ul>
  <//>`;
}
