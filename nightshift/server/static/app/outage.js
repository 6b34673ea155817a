// The notice that pages show while no model answers. It lists the tasks that wait for a model, or explains how to
// connect one.

import {fault, post} from './api.js';
import {page} from './boot.js';
import {Button} from './forms.js';
import {Moment, Span} from './marks.js';
import {isAway, status} from './state.js';
import {counted} from './text.js';
import {toast} from './toasts.js';
import {html} from './ui.js';

const BUILT_IN = 'repair';
const nameOf = ({name, model}) => (model ? `${name}=${model}` : name);

async function test() {
  const answer = await post('/api/models/check');
  if (!answer.ok) return toast(fault(answer), 'bad');
  const models = answer.data.models.filter(({name}) => name !== BUILT_IN);
  const there = models.filter(({available, circuit}) => available && circuit !== 'open');
  if (there.length) toast(`${there.map(nameOf).join(', ')} answers; waiting tasks continue.`, 'good');
  else toast(`Still no answer. ${models.map((each) => `${nameOf(each)}: ${each.detail || 'not reachable'}`).join('; ')}`, 'bad');
  return status.reload();
}

function Waiting({parked: {count, first}}) {
  const more = count - first.length;
  return html`<a href="/tasks?status=scheduled">${counted(count, 'task waits', 'tasks wait')}</a> for one${' '}
    (${first.map((id, at) => html`${at ? ', ' : ''}<a href=${`/task/${id}`}>#${id}</a>`)}${more ? ` and ${more} more` : ''})
    and ${count === 1 ? 'continues' : 'continue'} by ${count === 1 ? 'itself' : 'themselves'}.`;
}

const Test = () => html`<${Button} sends kind="main" onClick=${test}>Test connection<//>`;
const Details = ({models}) => models.map((each) => html`<p class="hint" key=${nameOf(each)}><b>${nameOf(each)}</b>: ${each.detail || 'not reachable'}</p>`);

function Invitation({models}) {
  return html`<section class="notice invitation" aria-label="Connect a model">
    <div><h2>Connect a model</h2>
      <p>The built-in engine repairs Python code whose tests fail. Every other task waits for a model.</p>
      <ul><li><b>Ollama on this machine</b>: start it and pull a model; no setting is needed.</li>
        <li><b>A key</b>: set <code>OPENAI_API_KEY</code>, <code>ANTHROPIC_API_KEY</code> or <code>GEMINI_API_KEY</code> before the start.</li>
        <li><b>A GGUF file</b>: give its path in the <a href="/settings">settings</a>.</li></ul>
      <details><summary>Tried so far</summary><${Details} models=${models} /></details></div>
    <${Test} />
  </section>`;
}

/**
 * Shows nothing while a model answers. While no model answers, it shows a banner on every page if tasks wait for a
 * model; otherwise, on the first page, it explains how to connect one.
 */
export function Outage() {
  const report = status.data;
  if (!report?.overall.lacks_model || isAway()) return null;
  const models = report.models.filter(({name}) => name !== BUILT_IN);
  if (!report.parked.count) return page.name === 'brief' ? html`<${Invitation} models=${models} />` : null;
  const since = models.map((each) => each.since).filter(Boolean).sort().at(-1);
  const next = models.map((each) => each.next_check_at).filter(Boolean).sort()[0];
  return html`<section class="notice outage" aria-label="No model answers">
    <div><p><b>No model ${since ? 'has answered' : 'answers'}${since ? html` for <${Span} since=${since} />` : '.'}</b>
        ${since ? html` <span class="hint">since <${Moment} at=${since} form="short" />${next ? html`, next check <${Moment} at=${next} />` : null}</span>` : null}</p>
      <p><${Waiting} parked=${report.parked} /></p>
      <${Details} models=${models} /></div>
    <${Test} />
  </section>`;
}
