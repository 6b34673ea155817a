// The text that a model is writing now, with its writing speed. Before the first text arrives, a note says which model
// was asked and how long ago.

import {Span} from './marks.js';
import {calls, rate} from './live_text.js';
import {grouped} from './text.js';
import {classes, html, useLayoutEffect, useRef} from './ui.js';

const NEAR_PX = 40;
const ESCAPES = {n: '\n', t: '\t', r: '', '"': '"', '\\': '\\', '/': '/'};

/**
 * Return the newest model call of a step of a task, or null. Once the reply is stored, the step itself shows it, so
 * null is returned.
 */
export function callOf(task, step) {
  const call = calls.value.get(task);
  if (!call || call.attempt !== step.attempt || call.step_no !== step.step_no) return null;
  return call.end === 'answered' && call.call_no < step.calls ? null : call;
}

const who = ({backend, model}) => (backend === 'repair' ? 'The built-in engine' : model ? `${backend}=${model}` : backend);

/** The writing speed, as `about 42 tokens/s`. */
function Pace({call}) {
  const speed = rate(call);
  if (speed === null) return null;
  return html`<span class="pace" title=${call.estimated ? 'estimated from the text until the model has counted' : 'as the model counted'}>${call.estimated ? 'about ' : ''}${grouped(Math.round(speed))} tokens/s</span>`;
}

function Standing({call}) {
  if (call.end === 'broken') return html`${who(call)} broke off.`;
  if (call.end) return html`${who(call)} answered: ${call.estimated ? 'about ' : ''}${grouped(call.tokens)} tokens.`;
  if (call.parts.length) return html`${who(call)} writes: about ${grouped(call.tokens)} tokens so far.`;
  if (call.backend === 'repair') return html`${who(call)} searches since <${Span} since=${call.began_at} />.`;
  return html`${who(call)} ${call.thinks ? 'thinks; it was asked' : 'was asked'} <${Span} since=${call.began_at} /> ago and has written nothing yet.`;
}

/** Make the JSON arguments of a tool call readable by replacing its escapes. The JSON may still be incomplete. */
const readable = (text) => text.replace(/\\(["\\/nrt])/g, (_, char) => ESCAPES[char]);

const Part = ({part}) => (part.is_thought ? html`<details class="hint"><summary>thoughts</summary>${part.text}</details>` : part.tool ? html`<span class="writing-call"><b>${part.tool}</b> ${readable(part.text)}</span>` : part.text);

/**
 * A reply while a model is writing it. It scrolls to the end unless the user scrolled up. Screen readers do not
 * announce it.
 */
export function Writing({call, small = false}) {
  const at = useRef(null);
  const follows = useRef(true);
  useLayoutEffect(() => {
    if (at.current && follows.current) at.current.scrollTop = at.current.scrollHeight;
  });
  const onScroll = ({target}) => { follows.current = target.scrollHeight - target.scrollTop - target.clientHeight < NEAR_PX; };
  return html`<div class="writing">
    <p class="hint"><${Standing} call=${call} /> <${Pace} call=${call} /></p>
    ${call.parts.length ? html`<pre class=${classes('wrap', {small})} ref=${at} onScroll=${onScroll} tabindex="0" role="region" aria-live="off"
      aria-label="Reply as it is written">${call.cut ? '…' : null}${call.parts.map((part, number) => html`<${Part} key=${number} part=${part} />`)}</pre>` : null}
  </div>`;
}
