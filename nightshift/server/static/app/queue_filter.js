// The filter of a list of tasks: a search text, a button for each status, and the other filters in the page's address.

import {clock, counted, day, grouped, words} from './text.js';
import {STATUSES} from './queue_model.js';
import {html, useEffect, useRef} from './ui.js';

const TYPING_MS = 250;

function Search({list}) {
  const box = useRef(null);
  const timer = useRef(0);
  const {q} = list.wanted.value;
  const want = (text) => text !== list.wanted.peek().q && list.want({q: text});
  useEffect(() => { // the list was cleared elsewhere, not in the field
    if (document.activeElement !== box.current) box.current.value = q;
  }, [q]);
  const typed = ({target}) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => want(target.value.trim()), TYPING_MS);
  };
  const pressed = (event) => {
    if (event.key === 'Escape' && event.target.value) {
      event.target.value = '';
      want('');
    } else if (event.key === 'Enter' || event.key === 'Escape') {
      event.target.blur();
    }
  };
  return html`<input ref=${box} type="search" data-search defaultValue=${q} maxlength="200"
    onInput=${typed} onKeyDown=${pressed} placeholder="Search text, branch, commit or #id" aria-label="Search tasks" />`;
}

function Chip({name, count, isOn, onClick}) {
  return html`<li><button type="button" class=${`chip ${name}`} aria-pressed=${String(isOn)} onClick=${onClick}>
    ${words(name)} <span class="number">${grouped(count)}</span></button></li>`;
}

/** A button for each status that any task has. If several are pressed, the tasks of all these statuses are shown. */
function Statuses({list}) {
  const {status} = list.wanted.value;
  const counts = list.found.value?.counts;
  if (!counts) return html`<ul class="chips" aria-label="Status"></ul>`;
  const toggled = (name) => list.want({status: STATUSES.filter((each) => (each === name) !== status.includes(each))});
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return html`<ul class="chips" aria-label="Status">
    <${Chip} name="all" count=${all} isOn=${!status.length} onClick=${() => list.want({status: []})} />
    ${STATUSES.filter((name) => counts[name] || status.includes(name)).map((name) => html`
      <${Chip} key=${name} name=${name} count=${counts[name]} isOn=${status.includes(name)} onClick=${() => toggled(name)} />`)}
  </ul>`;
}

/** A filter from the page's address, and a button that removes it. */
const Given = ({name, value, onClear}) => html`<span class="given">${name}: <b>${value}</b>
  <button type="button" class="bare" aria-label=${`Show every ${name}`} onClick=${onClear}>×</button></span>`;

/** Format a time from the page's address; `today` stays as it is. */
const at = (text) => (text === 'today' ? text : `${day(text)} ${clock(text)}`);

export function Filter({list}) {
  const wanted = list.wanted.value;
  const found = list.found.value;
  return html`<div class="queue-filter">
    <${Search} list=${list} />
    <${Statuses} list=${list} />
    ${['kind', 'repo'].filter((name) => wanted[name]).map((name) => html`
      <${Given} key=${name} name=${name} value=${wanted[name]} onClear=${() => list.want({[name]: ''})} />`)}
    ${wanted.since ? html`<${Given} name="ended" value=${wanted.since === 'today' ? 'today' : `${at(wanted.since)}${wanted.until ? ` – ${at(wanted.until)}` : ''}`}
      onClear=${() => list.want({since: '', until: ''})} />` : null}
    <span class="unseen" role="status">${found ? counted(found.total, 'task') : ''}</span>
  </div>`;
}
