// The tool calls of a step, each with its result and with the text that the model wrote before it. A long result is
// shown in full on request.

import {fault, get} from '../../app/api.js';
import {Button, Count, Diff, Fault, Span} from '../../app/parts.js';
import {Copy} from '../../app/copy.js';
import {counted, grouped} from '../../app/text.js';
import {classes, html, useState} from '../../app/ui.js';
import {rowsOf} from '../../app/difference.js';

const FIRST_LINES = 12;

/** Return the summary of a tool call without the leading name of the tool, because the name is shown separately. */
const rest = ({name, brief}) => brief.slice(name.length).replace(/^:? /, '');

/** Return the first lines of a text, and the number of lines that were left out. */
function head(text) {
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.length > FIRST_LINES + 3 ? [lines.slice(0, FIRST_LINES).join('\n'), lines.length - FIRST_LINES] : [text, 0];
}

/** The result of a tool call: its first lines, with a button that shows the whole text. */
function Result({result, load}) {
  const [isWhole, setWhole] = useState(false);
  const [first, left] = head(result.text);
  const show = async () => {
    if (result.cut) await load();
    setWhole(true);
  };
  const isCut = !isWhole && (left > 0 || result.cut);
  return html`<div class="result"><div class="copied"><${Copy} text=${result.text} what="the result" /></div>
    <pre class="wrap" tabindex="0" aria-label="Result">${(isCut ? first : result.text) || '(no output)'}</pre>
    ${isCut ? html`<${Button} kind="small" onClick=${show}>Show all ${result.cut ? `${grouped(result.chars)} characters` : `${left + FIRST_LINES} lines`}<//>` : null}</div>`;
}

const isLong = ({text, cut}) => cut || text.length > 80 || text.includes('\n');

/**
 * The arguments that the summary of the call does not contain. Short arguments share one line, long ones follow
 * unchanged.
 */
function Arguments({call}) {
  const said = rest(call);
  const more = Object.entries(call.arguments).filter(([, {text}]) => text && !said.includes(text));
  const short = more.filter(([, value]) => !isLong(value));
  return html`${short.length ? html`<p class="hint">${short.map(([name, {text}]) => html`${name} <code>${text}</code> `)}</p>` : null}
    ${more.filter(([, value]) => isLong(value)).map(([name, {text, cut, chars}]) => html`
      <pre class="wrap" tabindex="0" aria-label=${name || 'arguments'}>${text}${cut ? `\n… (${grouped(chars)} characters in all)` : ''}</pre>`)}`;
}

function Body({task, detail, call}) {
  const [state, setState] = useState({call: null, error: ''});
  const shown = state.call ?? call;
  const load = async () => {
    const answer = await get(`/api/task/${task.task_id}/step/${detail.attempt}/${detail.step_no}`, {call: call.call_no});
    setState(answer.ok ? {call: answer.data.tools.find((one) => one.seq === call.seq) ?? null, error: ''} : {call: null, error: fault(answer)});
  };
  return html`<div class="body"><${Arguments} call=${shown} />
    ${shown.hunks.length ? html`<div class=${classes({part: call.name === 'edit'})}><${Diff} rows=${rowsOf(shown.hunks)} label=${`What ${call.brief} wrote`} /></div>` : null}
    ${state.error ? html`<${Fault} error=${state.error} retry=${load} />` : null}
    <${Result} result=${shown.result} load=${load} /></div>`;
}

/** Return the error of a failed call if it fits on one line, otherwise null. */
const whyNot = ({ok, result: {text}}) => (ok || text.length > 200 || text.includes('\n') ? null : html`<small class="bad">${text}</small>`);

function Tool({task, detail, call, reply, number}) {
  const [isOpen, setOpen] = useState(false);
  const isTold = isOpen && !Object.values(call.arguments).some(isLong);
  return html`<li class=${classes('tool', {failed: !call.ok, told: isTold})}>
    ${call.said ? html`<p class="said">${call.said}</p>` : null}
    <details open=${isOpen} onToggle=${(event) => setOpen(event.target.open)}>
      <summary><span class="no">${number}</span>
        <span class=${classes('sign', call.ok ? 'good' : 'bad')} role="img" aria-label=${call.ok ? 'succeeded' : 'failed'}>${call.ok ? '✓' : '✕'}</span>
        <span class="act"><b>${call.name}</b> <span title=${call.brief}>${rest(call)}</span>${whyNot(call)}</span>
        <span class="flags">${call.changed ? html`<span class="flag change" title="files changed">± files</span>` : null}</span>
        <span class="minor" title=${reply ? `${grouped(reply.tokens_in)} tokens in, ${grouped(reply.tokens_out)} out` : undefined}>${reply ? html`<${Count} value=${reply.tokens_in + reply.tokens_out} /> tok` : null}</span>
        <span class="took"><${Span} seconds=${call.took_s} /></span></summary>
      ${isOpen ? html`<${Body} task=${task} detail=${detail} call=${call} />` : null}
    </details></li>`;
}

/** Return how often each tool was called, such as `8 read_file, 3 run`. */
function counts(tools) {
  const found = new Map();
  tools.forEach(({name}) => found.set(name, (found.get(name) ?? 0) + 1));
  return [...found].sort(([, one], [, other]) => other - one).map(([name, count]) => `${count} ${name}`).join(', ');
}

export function Tools({task, detail}) {
  const {tools, calls} = detail;
  const replies = new Map(calls.map((call) => [call.call_no, call]));
  const failed = tools.filter((call) => !call.ok).length;
  const seconds = tools.reduce((sum, call) => sum + call.took_s, 0);
  return html`<p class="hint">${counts(tools)} · <${Span} seconds=${seconds} />${failed ? html` · <span class="bad">${counted(failed, 'call')} failed</span>` : null}</p>
    <ol class="tool-calls">${tools.map((call, index) => html`<${Tool} key=${`${call.call_no}-${call.seq}`} task=${task} detail=${detail} call=${call}
      reply=${call.seq ? null : replies.get(call.call_no)} number=${index + 1} />`)}</ol>`;
}
