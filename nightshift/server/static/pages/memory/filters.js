// The filters of the list of lessons, and the search by words or by meaning.

import {html, useEffect, useRef, useSignal} from '../../app/ui.js';
import {want, wanted} from './model.js';

const WAIT_MS = 250;
const STATES = [['', 'any state'], ['active', 'active'], ['probation', 'on probation'], ['retired', 'retired']];
const KINDS = [['', 'failures and patterns'], ['failure', 'failures'], ['pattern', 'patterns']];
const ORDERS = [['', 'newest first'], ['used', 'most used first']];

const Choice = ({label, name, options, disabled}) => html`<select aria-label=${label} disabled=${disabled} value=${wanted.value[name] ?? ''}
  onChange=${(event) => want({[name]: event.target.value})}>${options.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}</select>`;

const places = (found, all) => [['', all], ...(found ?? []).map((name) => [name, name.length > 40 ? `…${name.slice(-38)}` : name])];

function Search() {
  const mode = useSignal(wanted.peek().like ? 'like' : 'text');
  const typed = useSignal(wanted.peek().like ?? wanted.peek().text ?? '');
  const timer = useRef(0);
  const send = () => want({text: undefined, like: undefined, [mode.peek()]: typed.peek().trim()});
  const soon = (event) => {
    typed.value = event.target.value;
    clearTimeout(timer.current);
    timer.current = setTimeout(send, WAIT_MS);
  };
  const change = (next) => () => {
    mode.value = next;
    if (typed.peek().trim()) send();
  };
  // Empty the field if other code has reset the search.
  useEffect(() => wanted.subscribe(({text, like}) => { if (!text && !like && !timer.current) typed.value = ''; }), []);
  return html`<div class="search">
    <input type="search" data-search class="wide" maxlength="400" value=${typed.value} onInput=${soon} aria-label="Search lessons"
      placeholder=${mode.value === 'like' ? 'an error or a task; the nearest lessons are found' : 'words of an error, a lesson or a fix'} />
    <span class="modes" role="group" aria-label="How to search">
      ${[['text', 'Words'], ['like', 'Meaning']].map(([name, title]) => html`<button key=${name} type="button" class="bare small"
        aria-pressed=${String(mode.value === name)} onClick=${change(name)}>${title}</button>`)}</span>
  </div>`;
}

/** All controls that select lessons. @param {{places: {languages: string[], repos: string[]}|null}} props */
export const Filters = ({places: known}) => html`<div class="filters">
  <${Search} />
  <${Choice} label="State" name="state" options=${STATES} />
  <${Choice} label="Kind" name="kind" options=${KINDS} />
  <${Choice} label="Language" name="language" options=${places(known?.languages, 'any language')} />
  ${known?.repos.length ? html`<${Choice} label="Repository" name="repo" options=${places(known.repos, 'any repository')} />` : null}
  <${Choice} label="Order" name="order" options=${ORDERS} disabled=${Boolean(wanted.value.like)} />
</div>`;
