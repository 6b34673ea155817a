// The model calls of a step, each with the parts of its prompt and its reply.

import {fault, get} from '../../app/api.js';
import {Button, Count, Fault, Money, Span} from '../../app/parts.js';
import {counted} from '../../app/text.js';
import {html, useState} from '../../app/ui.js';
import {Copy} from '../../app/copy.js';

function Part({part}) {
  const {text, chars, cut} = part.said;
  const isReply = part.role === 'reply';
  return html`<details class="part" open=${isReply || chars < 1500}>
    <summary>${part.role} <span class="hint">${counted(chars, 'character')}${cut ? ', cut' : ''}</span></summary>
    <div class="copied"><${Copy} text=${text} what=${`the ${part.role}`} /></div>
    <pre class="wrap" tabindex="0">${text || '(empty)'}</pre></details>`;
}

/**
 * Return the model call to show, and a function that requests the call again with its full texts. The request is needed
 * if the texts were cut or left out.
 */
function useAlone(task, detail, call) {
  const [state, setState] = useState({call, error: ''});
  const shown = state.call.call_no === call.call_no && state.call.parts.length >= call.parts.length ? state.call : call;
  const load = async () => {
    const answer = await get(`/api/task/${task.task_id}/step/${detail.attempt}/${detail.step_no}`, {call: call.call_no});
    setState(answer.ok ? {call: answer.data.calls[0], error: ''} : {call, error: fault(answer)});
  };
  return {shown, error: state.error, load};
}

function Call({task, detail, call, isOnly}) {
  const {shown, error, load} = useAlone(task, detail, call);
  const isCut = !shown.parts.length || shown.parts.some((part) => part.said.cut);
  return html`<details class="call" open=${isOnly}>
    <summary>${shown.model || shown.backend} <span class="hint"><${Count} value=${shown.tokens_in} /> in, <${Count} value=${shown.tokens_out} /> out
      · <${Span} seconds=${shown.latency_s} /> · ${shown.cost_usd === null ? 'cost unknown' : html`<${Money} usd=${shown.cost_usd} />`}
      ${shown.finish === 'stop' ? '' : ` · ${shown.finish}`}</span></summary>
    ${error ? html`<${Fault} error=${error} retry=${load} />` : null}
    ${shown.parts.map((part, index) => html`<${Part} key=${index} part=${part} />`)}
    <p class="more">${isCut ? html`<${Button} kind="small" onClick=${load}>Show all of it<//> ` : null}<a href=${shown.text}>as plain text</a></p>
  </details>`;
}

export const Calls = ({task, detail}) => detail.calls.map((call) => html`
  <${Call} key=${call.call_no} task=${task} detail=${detail} call=${call} isOnly=${detail.calls.length === 1} />`);
