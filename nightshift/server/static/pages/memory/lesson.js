// One lesson with all its facts: the failure, its fix, its measured value, and the attempts in which it was used.

import {post, fault, useData} from '../../app/api.js';
import {Button, Dialog, Empty, Loaded, Moment, Pill, confirmed} from '../../app/parts.js';
import {UNDO_MS, toast} from '../../app/shell.js';
import {counted, percent} from '../../app/text.js';
import {html} from '../../app/ui.js';
import {State} from './list.js';
import {shown} from './model.js';
import {Range} from './range.js';

const ARMS = {shown: ['shown', 'running'], control: ['control group', ''], probation: ['left out: on probation', 'waiting']};
const KINDS = ['lesson_retired', 'lesson_restored'];

async function sent(lesson, verb, said, reloads) {
  const answer = await post(`/api/lesson/${lesson.id}/${verb}`);
  if (!answer.ok) toast(fault(answer), 'bad');
  else if (verb === 'retire') {
    const again = () => sent(lesson, 'restore', 'The lesson is used again.', reloads);
    toast(html`${said} <${Button} sends kind="bare small" onClick=${again}>Use it again<//>`, 'good', UNDO_MS);
  } else toast(said, 'good');
  await Promise.all(reloads.map((reload) => reload()));
}

async function retire(lesson, reloads) {
  const isSure = await confirmed({
    title: 'Retire this lesson?', yes: 'Retire lesson', no: 'Keep lesson', danger: true,
    text: 'It is not recalled until you restore it; then it starts without a record.',
  });
  if (isSure) await sent(lesson, 'retire', 'The lesson is retired.', reloads);
}

const Act = ({lesson, reloads}) => (lesson.state === 'retired'
  ? html`<${Button} sends onClick=${() => sent(lesson, 'restore', 'The lesson is used again.', reloads)}>Use it again<//>`
  : html`<${Button} sends kind="danger" onClick=${() => retire(lesson, reloads)}>Retire…<//>`);

const share = ({part, whole}) => (whole ? `${percent(part / whole)} (${part} of ${whole})` : 'no attempt yet');

const WHY = {owner: 'you retired it', measured: 'it did not help'};

const Facts = ({lesson}) => html`<dl class="lesson-facts">
  <dt>State</dt><dd><${State} state=${lesson.state} /> ${lesson.retired_at ? html`<span class="hint">${WHY[lesson.retired_by] ?? ''} <${Moment} at=${lesson.retired_at} /></span>` : null}</dd>
  <dt>Solved with it</dt><dd>${share(lesson.shown)}</dd>
  <dt>Without it</dt><dd>${share(lesson.withheld)}</dd>
  ${lesson.elsewhere ? html`<dt>Of these</dt><dd>${counted(lesson.elsewhere, 'attempt')} on other nodes of the hub</dd>` : null}
  <dt>Effect</dt><dd>${lesson.uplift ? html`<${Range} found=${lesson.uplift} most=${1} width=${200}
      label=${`${Math.round(lesson.uplift.estimate * 100)} points, from ${Math.round(lesson.uplift.low * 100)} to ${Math.round(lesson.uplift.high * 100)}`} />
    <span class="hint"> ${Math.round(lesson.uplift.low * 100)} to ${Math.round(lesson.uplift.high * 100)} points</span>` : html`<span class="hint">not known yet</span>`}</dd>
  <dt>Shown</dt><dd>${counted(lesson.times_used, 'time')}, ${lesson.helped} of them solved ${lesson.last_used_at ? html`<span class="hint">last <${Moment} at=${lesson.last_used_at} /></span>` : null}</dd>
  ${lesson.judged_from ? html`<dt>Judged from</dt><dd><${Moment} at=${lesson.judged_from} /> <span class="hint">, when it was restored</span></dd>` : null}
  <dt>Learned</dt><dd><${Moment} at=${lesson.learned_at} /> ${lesson.task_id ? html`from <a href=${`/task/${lesson.task_id}`}>task ${lesson.task_id}</a>` : 'elsewhere'}
    ${' '}<span class="hint">${[lesson.language, lesson.repo].filter(Boolean).join(' · ')}</span></dd>
</dl>`;

function Use({use}) {
  const [said, colour] = ARMS[use.arm];
  return html`<tr><td class="what"><a href=${`/task/${use.task_id}`}>#${use.task_id} ${use.description}</a>
      <small>attempt ${use.attempt}</small></td>
    <td><${Pill} status=${colour}>${said}<//></td>
    <td>${use.solved === null ? html`<span class="hint">runs</span>` : html`<${Pill} status=${use.solved ? 'done' : 'failed'}>${use.solved ? 'solved' : 'not solved'}<//>`}</td>
    <td class="number">${use.iterations === null ? '–' : counted(use.iterations, 'iteration')}</td>
    <td class="minor"><${Moment} at=${use.at} /></td></tr>`;
}

const Uses = ({uses}) => (uses.length ? html`<div class="scroll"><table aria-label="Where it was used"><tbody>
  ${uses.map((use) => html`<${Use} key=${`${use.task_id}-${use.attempt}`} use=${use} />`)}</tbody></table></div>`
  : html`<${Empty}>No attempt has been similar yet.<//>`);

const Body = ({lesson, reloads}) => html`<div class="lesson">
  ${lesson.lesson ? html`<p class="lead">${lesson.lesson}</p>` : null}
  <${Facts} lesson=${lesson} />
  <h3>${lesson.kind === 'failure' ? 'What failed' : 'The task that it solved'}</h3>
  <pre class="wrap" tabindex="0">${lesson.error}</pre>
  ${lesson.fix ? html`<h3>Fix</h3><pre tabindex="0" aria-label="Fix">${lesson.fix}</pre>` : null}
  <h3>Similar attempts</h3><${Uses} uses=${lesson.uses} />
  ${lesson.failed_code ? html`<details><summary>The whole change that failed</summary><pre tabindex="0">${lesson.failed_code}</pre></details>` : null}
  ${lesson.signature ? html`<details><summary>Its signature, used to find it</summary><pre class="wrap" tabindex="0">${lesson.signature}</pre></details>` : null}
  <footer><${Act} lesson=${lesson} reloads=${reloads} /></footer>
</div>`;

function Inner({id, reload}) {
  const lesson = useData(`/api/lesson/${encodeURIComponent(id)}`, {}, KINDS);
  return html`<${Loaded} of=${lesson}>${(data) => html`<${Body} lesson=${data} reloads=${[lesson.reload, reload]} />`}<//>`;
}

/** The dialog that shows a lesson. @param {{id: string|null, reload: () => Promise<void>}} props */
export const Lesson = ({id, reload}) => html`<${Dialog} open=${id !== null} wide title=${id ? `Lesson ${id}` : ''} onClose=${() => { shown.value = null; }}>
  ${id ? html`<${Inner} key=${id} id=${id} reload=${reload} />` : null}<//>`;
