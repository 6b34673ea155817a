// The command palette (Ctrl-K, ⌘K), which searches the actions of this page, the pages, tasks and settings.
//
// The search field is a combobox: the focus stays in the field, and the arrow keys move through the options of its
// list.

import {get} from './api.js';
import {go} from './boot.js';
import {Dialog} from './dialogs.js';
import {forGood} from './kept.js';
import {bindings} from './keys.js';
import {counted, firstLine, words as asWords} from './text.js';
import {batch, html, signal, useEffect, useRef} from './ui.js';

/**
 * One option of the list. Choosing it runs `run` or opens `href`. `hint` is a text shown beside the label.
 * @typedef {{key: string, label: string, hint?: string, href?: string, run?: () => void}} Item
 */

const KEPT = 'palette-recent';
const MOST_RECENT = 5;
const MOST_ACTIONS = 8;
const PAUSE_MS = 120;
const MAX_BUTTON_CHARS = 40;
/** Keys that are not useful as actions of the palette, such as those that move from row to row. */
const WALKING = new Set(['j', 'k', 'x', 'Enter', ' ', 'n', 'N', '?', '/', 'Ctrl+K']);

export const isPaletteOpen = signal(false);
const typed = signal('');
const found = signal(null);
const chosen = signal('');
let asked = Promise.resolve();
let newest = 0;

const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
const fits = (label, words) => words.every((word) => label.toLowerCase().includes(word));

function recent() {
  try {
    return JSON.parse(forGood.recall(KEPT) ?? '[]');
  } catch {
    return [];
  }
}

function remember({key, label, hint = '', href}) {
  const others = recent().filter((each) => each.key !== key);
  forGood.keep(KEPT, JSON.stringify([{key, label, hint, href}, ...others].slice(0, MOST_RECENT)));
}

/** Return the actions of the page: those of its shortcut keys and of its visible buttons, without duplicates. */
function actions() {
  const keyed = new Map(bindings.peek().map(({key, what, fn}) => [key, {key: `key ${key}`, label: capital(what), hint: key, run: () => fn()}]));
  const byKey = [...keyed].filter(([key]) => !WALKING.has(key) && !key.startsWith('g ')).map(([, item]) => item);
  const buttons = [...document.querySelectorAll('main button, .standing button')].filter(isOffered);
  const pressed = buttons.map((button) => ({key: `button ${nameOf(button)}`, label: nameOf(button), run: () => { button.focus(); button.click(); }}));
  return [...new Map([...byKey, ...pressed].map((item) => [item.label.toLowerCase(), item])).values()];
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const nameOf = (button) => (button.getAttribute('aria-label') ?? button.textContent).trim();
const isOffered = (button) => !button.disabled && button.id !== 'palette' && nameOf(button) && nameOf(button).length <= MAX_BUTTON_CHARS
  && !button.closest('td, th, li, [role=tablist], dialog') && button.checkVisibility();

const pages = () => [...document.querySelectorAll('.top nav a')].map((link) => (
  {key: `page ${link.dataset.path}`, label: link.textContent.trim(), hint: `g ${link.dataset.key}`, href: link.dataset.path}));

const taskItem = ({task_id: id, title, status}) => ({key: `task ${id}`, label: title || '(no words)', hint: `#${id} · ${asWords(status)}`, href: `/task/${id}`});
const settingItem = ({name, text}) => ({key: `setting ${name}`, label: name, hint: firstLine(text, 100), href: `/settings?q=${name}`});
/** Return the options of the list as groups: pairs of a title and items. Empty groups are left out. */
function groups() {
  const words = wordsOf(typed.value);
  const hits = found.value;
  const some = words.length
    ? [['Here', actions().filter(({label}) => fits(label, words)).slice(0, MOST_ACTIONS)], ['Pages', pages().filter(({label}) => fits(label, words))]]
    : [['Recent', recent()]];
  const tasks = ['Tasks', (hits?.tasks ?? []).map(taskItem)];
  const more = words.length ? [
    ['Settings', (hits?.settings ?? []).map(settingItem)],
  ] : [['Here', actions().slice(0, MOST_ACTIONS)], ['Pages', pages()]];
  const seen = new Set();
  return [...some, tasks, ...more].map(([title, items]) => [title, items.filter(({key}) => !seen.has(key) && seen.add(key))])
    .filter(([, items]) => items.length);
}

function ask(text) {
  const turn = ++newest;
  asked = new Promise((done) => {
    setTimeout(async () => {
      if (turn !== newest) return done();
      const answer = await get('/api/search', {q: text.trim()});
      if (turn === newest) found.value = answer.ok ? answer.data : null;
      return done();
    }, found.peek() === null ? 0 : PAUSE_MS);
  });
}

function type(text) {
  batch(() => {
    typed.value = text;
    chosen.value = '';
  });
  ask(text);
}

function open() {
  batch(() => {
    typed.value = '';
    found.value = null;
    chosen.value = '';
    isPaletteOpen.value = true;
  });
  ask('');
}

const close = () => { isPaletteOpen.value = false; };

function choose(item) {
  close();
  if (item.href) {
    remember(item);
    go(item.href);
  } else setTimeout(item.run); // after the dialog has returned the focus
}

/**
 * Run the chosen item. Wait first for the search for the current input, because Enter may be pressed before it ends.
 */
async function enter() {
  const text = typed.peek();
  await asked;
  if (!isPaletteOpen.peek() || typed.peek() !== text) return;
  const items = groups().flatMap(([, each]) => each);
  const item = items.find(({key}) => key === chosen.peek()) ?? items[0];
  if (item) choose(item);
}

function pressed(event, items) {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (event.key === 'Enter') {
    event.preventDefault();
    enter();
  } else if (event.key === 'Escape') {
    event.preventDefault(); // by default the browser would only clear the field
    close();
  } else if (step && items.length) {
    event.preventDefault();
    const at = items.findIndex(({key}) => key === chosen.peek());
    chosen.value = items[(Math.max(at, 0) + step + items.length) % items.length].key;
  }
}

const Option = ({item, is, id}) => html`<div role="option" id=${id} aria-selected=${String(is)} onClick=${() => choose(item)}>
  <span class="label">${item.label}</span>${item.hint ? html`<span class="hint">${item.hint}</span>` : null}</div>`;

function List() {
  const box = useRef(null);
  const shown = groups();
  const items = shown.flatMap(([, each]) => each);
  const at = Math.max(0, items.findIndex(({key}) => key === chosen.value));
  useEffect(() => box.current.querySelector('[aria-selected=true]')?.scrollIntoView({block: 'nearest'}), [items[at]?.key]);
  let number = -1;
  return html`<input type="search" role="combobox" autofocus maxlength="200" autocomplete="off" spellcheck=${false} value=${typed.value}
      aria-label="Find tasks, settings, actions, log and prompts" placeholder="Find a task, a setting, an action, a line …"
      aria-expanded=${String(items.length > 0)} aria-controls="palette-list" aria-autocomplete="list"
      aria-activedescendant=${items.length ? `palette-${at}` : undefined}
      onInput=${(event) => type(event.target.value)} onKeyDown=${(event) => pressed(event, items)} />
    <div role="listbox" id="palette-list" aria-label="Found" ref=${box}>${shown.map(([title, each], group) => html`
      <div role="group" key=${title} aria-labelledby=${`palette-group-${group}`}><p class="hint" id=${`palette-group-${group}`}>${title}</p>
        ${each.map((item) => html`<${Option} key=${item.key} item=${item} id=${`palette-${++number}`} is=${number === at} />`)}</div>`)}</div>
    <p class="hint foot" role="status">${items.length ? `${counted(items.length, 'result')}; ↑ ↓ move, Enter opens, Escape closes`
    : found.value === null ? '…' : `No results for “${typed.value.trim()}”. Try fewer or other words.`}</p>`;
}

export function Palette() {
  return html`<${Dialog} open=${isPaletteOpen.value} title="Find" wide onClose=${close}>
    <div class="palette"><${List} /></div><//>`;
}

/** Start to listen to Ctrl-K and ⌘K. The shell calls this once. */
export function startPalette() {
  addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (isPaletteOpen.peek()) close();
    else if (!document.querySelector('dialog[open]')) open();
  });
}

export const openPalette = open;
