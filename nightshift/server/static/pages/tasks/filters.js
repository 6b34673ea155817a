// Buttons with common filters of the task list, and a selection of the repository.

import {useData} from '../../app/api.js';
import {PLAIN, queryOf} from '../../app/queue_model.js';
import {html} from '../../app/ui.js';

const COMMON = [
  ['All', {}],
  ['Needs you', {status: ['waiting']}],
  ['Running', {status: ['running']}],
  ['Waiting', {status: ['queued', 'scheduled', 'blocked', 'shared'], sort: 'next', order: 'asc'}],
  ['Failed', {status: ['failed'], sort: 'ended'}],
  ['Done today', {status: ['done'], since: 'today', sort: 'ended'}],
];

/** Convert a filter and its sort order to a text. Equal filters have equal texts. */
const written = (wanted) => new URLSearchParams(Object.entries(queryOf({...PLAIN, ...wanted})).sort()).toString();

/** True if two filters select the same tasks. The order is ignored. */
const isSame = (one, other) => written({...one, sort: 'id', order: 'desc'}) === written({...other, sort: 'id', order: 'desc'});

const Choice = ({title, wanted, list}) => html`<li><button type="button" class="chip" aria-pressed=${String(isSame(wanted, list.wanted.value))}
  onClick=${() => list.want({...PLAIN, ...wanted})}>${title}</button></li>`;

/** The filters. @param {{list: object}} props `list` is the list of tasks that they change */
export function Filters({list}) {
  const known = useData('/api/repositories');
  const [first, ...others] = known.data?.repositories ?? [];
  const choose = ({target}) => list.want({repo: target.value});
  return html`<section class="task-filters" aria-label="Filters"><ul class="chips">
    ${COMMON.map(([title, each]) => html`<${Choice} key=${title} title=${title} wanted=${each} list=${list} />`)}</ul>
    ${others.length ? html`<select aria-label="Repository" value=${list.wanted.value.repo} onChange=${choose}>
      <option value="">every repository</option><option value="workspace" title=${first}>the workspace</option>
      ${others.map((path) => html`<option key=${path} value=${path}>${path}</option>`)}</select>` : null}
  </section>`;
}
