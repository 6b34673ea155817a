// The model calls of a step: what the prompt held and left out, each part of it, and the reply.

import {fault, get} from '../../app/api.js';
import {Button, Count, Fault, Money, Span} from '../../app/parts.js';
import {counted, grouped} from '../../app/text.js';
import {html, useState} from '../../app/ui.js';
import {Copy} from '../../app/copy.js';

const NAMED = [['whole', 'files whole'], ['outlined', 'files by outline'], ['named', 'files by name']];

/** What a prompt held, as bars of its parts and lists of what else. */
function Held({held}) {
  if (held.again) return html`<p class="hint">About ${grouped(held.tokens)} of ${grouped(held.limit)} tokens: as before, with the last reply and what was wrong with it.</p>`;
  const whole = held.sections.reduce((sum, [, tokens]) => sum + tokens, 0) || 1;
  return html`<p class="hint">The prompt: about ${grouped(held.tokens)} of ${grouped(held.limit)} tokens</p>
    <div class="strip sections" role="img" aria-label=${held.sections.map(([title, tokens]) => `${title} ${tokens}`).join(', ')}>
      ${held.sections.map(([title, tokens], index) => html`<span class=${`run part${index % 4}`} style=${{flexGrow: (tokens / whole) * 100}} title=${`${title}: ${grouped(tokens)} tokens`}></span>`)}</div>
    <dl class="held"><dt>parts, in tokens</dt><dd>${held.sections.map(([title, tokens]) => `${title} ${grouped(tokens)}`).join(', ')}</dd>
      ${NAMED.filter(([name]) => held[name].length).map(([name, title]) => html`<dt>${title}</dt><dd>${named(held[name], held.counts[name])}</dd>`)}
      ${held.left_out ? html`<dt>files left out</dt><dd>${grouped(held.left_out)}</dd>` : null}
      ${held.lessons.length ? html`<dt>lessons</dt><dd>${held.lessons.map((number) => `#${number}`).join(', ')}</dd>` : null}
      ${held.shortened.length ? html`<dt>shortened</dt><dd>${held.shortened.join(', ')}</dd>` : null}
      ${held.omitted.length ? html`<dt>left out whole</dt><dd>${held.omitted.join(', ')}</dd>` : null}</dl>`;
}

const named = (paths, count) => paths.join(', ') + (count > paths.length ? ` and ${count - paths.length} more` : '');

function Part({part}) {
  const {text, chars, cut} = part.said;
  const isReply = part.role === 'reply';
  return html`<details class="part" open=${isReply || chars < 1500}>
    <summary>${part.role} <span class="hint">${counted(chars, 'character')}${cut ? ', cut' : ''}</span></summary>
    <div class="copied"><${Copy} text=${text} what=${`the ${part.role}`} /></div>
    <pre class="wrap" tabindex="0">${text || '(empty)'}</pre></details>`;
}

/** A call whose texts did not come along is asked for alone. */
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
    ${shown.prompt ? html`<${Held} held=${shown.prompt} />` : null}
    ${error ? html`<${Fault} error=${error} retry=${load} />` : null}
    ${shown.parts.map((part, index) => html`<${Part} key=${index} part=${part} />`)}
    <p class="more">${isCut ? html`<${Button} kind="small" onClick=${load}>Show all of it<//> ` : null}<a href=${shown.text}>as plain text</a></p>
  </details>`;
}

export const Calls = ({task, detail}) => detail.calls.map((call) => html`
  <${Call} key=${call.call_no} task=${task} detail=${detail} call=${call} isOnly=${detail.calls.length === 1} />`);
