// The owner's request: the description, the files and tests, and the messages and decisions that the owner sent during
// the task.

import {address} from '../../app/api.js';
import {Moment, Pill} from '../../app/parts.js';
import {html} from '../../app/ui.js';
import {Browser} from './files.js';

function Decision({ask}) {
  const isAnswer = ask.kind === 'question' && ask.granted;
  const said = isAnswer ? 'answered' : ask.granted ? 'granted' : 'denied';
  return html`<li><${Pill} status=${ask.granted ? 'done' : 'failed'}>${said}<//>
    ${ask.subject && ask.kind !== 'question' ? html` <code>${ask.subject}</code>` : html` ${ask.question}`}
    <small>${ask.answer} <${Moment} at=${ask.answered_at} /></small></li>`;
}

const Message = ({one}) => html`<li><span class="question">${one.text}</span>
  <small>${one.attempt ? `in attempt ${one.attempt}` : 'before it began'} <${Moment} at=${one.at} /></small></li>`;

/** The part of the page with the owner's request. @param {{task: object, course: object}} props */
export function Asked({task, course}) {
  const {words} = course;
  const decided = course.asks.filter((ask) => ask.granted !== null);
  return html`<pre class="wrap" tabindex="0">${words.description.text}${words.description.cut ? `\n… (${words.description.chars} characters in all)` : ''}</pre>
    ${words.test_command.length ? html`<p class="hint">judged by <code>${words.test_command.join(' ')}</code></p>` : null}
    ${words.packages.length ? html`<p class="hint">may use ${words.packages.map((name) => html`<code>${name}</code> `)}</p>` : null}
    ${Object.keys(task.metadata).length ? html`<details><summary>Metadata</summary><pre tabindex="0">${JSON.stringify(task.metadata, null, 2)}</pre></details>` : null}
    ${words.files.length ? html`<h2>Files and tests that came with it</h2><${Browser} files=${words.files}
      addressOf=${(path) => address(`/api/task/${task.task_id}/file`, {path})} />` : null}
    ${course.said.length ? html`<h2>Your messages</h2><ul class="plain">${course.said.map((one) => html`<${Message} key=${one.message_id} one=${one} />`)}</ul>` : null}
    ${decided.length ? html`<h2>Your decisions</h2><ul class="plain">${decided.map((ask) => html`<${Decision} key=${ask.approval_id} ask=${ask} />`)}</ul>` : null}`;
}
