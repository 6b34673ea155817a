// Filters of the list: those that everybody wants, one for each repository, and the owner's own, kept by name.

import {fault, post, useData} from '../../app/api.js';
import {queryOf} from '../../app/queue_model.js';
import {Button, Dialog} from '../../app/parts.js';
import {UNDO_MS, toast} from '../../app/shell.js';
import {html, useState} from '../../app/ui.js';

const NOTHING = {status: [], q: '', kind: '', repo: '', since: '', until: '', sort: 'id', order: 'desc'};
const COMMON = [
  ['All', {}],
  ['Needs you', {status: ['waiting']}],
  ['Running', {status: ['running']}],
  ['Waiting', {status: ['queued', 'scheduled', 'blocked', 'shared'], sort: 'next', order: 'asc'}],
  ['Failed', {status: ['failed'], sort: 'ended'}],
  ['Done today', {status: ['done'], since: 'today', sort: 'ended'}],
];

/** A filter as one text, the same for the same tasks in the same order. */
const written = (wanted) => new URLSearchParams(Object.entries(queryOf({...NOTHING, ...wanted})).sort()).toString();

/** Whether two filters show the same tasks, in whichever order. */
const isSame = (one, other) => written({...one, sort: 'id', order: 'desc'}) === written({...other, sort: 'id', order: 'desc'});

function wantedOf(query) {
  const given = Object.fromEntries(new URLSearchParams(query));
  return {...NOTHING, ...given, status: given.status ? given.status.split(',') : []};
}

const Choice = ({title, wanted, list}) => html`<li><button type="button" class="chip" aria-pressed=${String(isSame(wanted, list.wanted.value))}
  onClick=${() => list.want({...NOTHING, ...wanted})}>${title}</button></li>`;

async function keep(name, query, done) {
  const answer = await post('/api/filters', {name, query});
  if (!answer.ok) return fault(answer);
  await done();
  return '';
}

function Own({each, list, reload}) {
  const forget = async () => {
    const why = await keep(each.name, '', reload);
    if (why) return toast(why, 'bad');
    const undo = () => keep(each.name, each.query, reload);
    return toast(html`“${each.name}” is deleted. <${Button} sends kind="bare small" onClick=${undo}>Undo<//>`, 'plain', UNDO_MS);
  };
  const wanted = wantedOf(each.query);
  const isOn = isSame(wanted, list.wanted.value);
  return html`<${Choice} title=${each.name} wanted=${wanted} list=${list} />
    ${isOn ? html`<li><${Button} sends kind="bare small" aria-label=${`Forget the filter ${each.name}`} onClick=${forget}>×<//></li>` : null}`;
}

function Name({open, onClose, query, reload}) {
  const [error, setError] = useState('');
  const send = async (event) => {
    event.preventDefault();
    const why = await keep(new FormData(event.target).get('name'), query, reload);
    setError(why);
    if (!why) onClose();
  };
  return html`<${Dialog} open=${open} title="Save this filter" onClose=${onClose}>
    <form class="ask-number" onSubmit=${send}>
      <label>Name <input type="text" name="name" required maxlength="60" autofocus /></label>
      ${error ? html`<p class="error" role="alert">${error}</p>` : null}
      <footer><${Button} onClick=${onClose}>Discard<//><${Button} sends type="submit" kind="main">Save filter<//></footer>
    </form><//>`;
}

/** @param {{list: object}} props the list that they filter */
export function Saved({list}) {
  const own = useData('/api/filters');
  const known = useData('/api/repositories');
  const [isNaming, setNaming] = useState(false);
  const wanted = list.wanted.value;
  const mine = own.data?.filters ?? [];
  const all = [...COMMON.map(([, each]) => written(each)), ...mine.map((each) => written(wantedOf(each.query)))];
  const [first, ...others] = known.data?.repositories ?? [];
  const choose = ({target}) => list.want({repo: target.value});
  return html`<section class="saved-filters" aria-label="Filters"><ul class="chips">
    ${COMMON.map(([title, each]) => html`<${Choice} key=${title} title=${title} wanted=${each} list=${list} />`)}
    ${mine.map((each) => html`<${Own} key=${each.name} each=${each} list=${list} reload=${own.reload} />`)}</ul>
    ${others.length ? html`<select aria-label="Repository" value=${wanted.repo} onChange=${choose}>
      <option value="">every repository</option><option value="workspace" title=${first}>the workspace</option>
      ${others.map((path) => html`<option key=${path} value=${path}>${path}</option>`)}</select>` : null}
    ${all.includes(written(wanted)) ? null : html`<${Button} kind="bare small" onClick=${() => setNaming(true)}>Save filter…<//>`}
    <${Name} open=${isNaming} onClose=${() => setNaming(false)} query=${written(wanted)} reload=${own.reload} />
  </section>`;
}
