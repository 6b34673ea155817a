// The frame of every page: header, title, icon, toasts, keyboard help; and the page itself in its middle.

import {answers} from './boot.js';
import {startClock} from './clock.js';
import {Confirm} from './dialogs.js';
import {Standing} from './header.js';
import {Help, isHelpOpen} from './help.js';
import {keys, startKeys} from './keys.js';
import {gap, onResync, startLive} from './live.js';
import {Outage} from './outage.js';
import {Palette, openPalette, startPalette} from './palette.js';
import {Safe} from './parts.js';
import {isAway, overall, startState, status} from './state.js';
import {counted, elapsed, typed} from './text.js';
import {Toasts, toast} from './toasts.js';
import {effect, html, render, useEffect} from './ui.js';

export {act, isHeldByOwner, status} from './state.js';
export {UNDO_MS, toast} from './toasts.js';
export {useFocusKey} from './keys.js';

/** What a page came with answers no question that is asked later. */
const BOOT_MS = 10_000;

const icon = document.getElementById('icon');

/** The icon and the sign before the title, by the daemon's state. */
const MOODS = {
  offline: ['away', '✕ '], paused: ['held', '⏸ '], no_model: ['fault', '! '], needs_you: ['asks', ''], working: ['busy', '▶ '], idle: ['idle', ''],
};

function followMood(title) {
  // Wanted when nothing can be fetched any more.
  new Image().src = icon.getAttribute('href').replace(/[^/]+$/, 'away.svg');
  effect(() => {
    const state = overall()?.state ?? 'idle';
    const [mood, sign] = MOODS[state];
    const now = state === 'paused' && status.data.approvals ? 'asks' : mood;
    const waiting = !isAway() && status.data?.approvals ? `(${status.data.approvals}) ` : '';
    document.title = `${sign}${waiting}${typeof title === 'function' ? title() : title} · Nightshift`;
    const wanted = icon.getAttribute('href').replace(/[^/]+$/, `${now}.svg`);
    if (icon.getAttribute('href') !== wanted) icon.setAttribute('href', wanted);
  });
}

function followConnection() {
  let seen = gap.peek();
  gap.subscribe((value) => {
    if (!value || value === seen) return;
    seen = value;
    toast(`The connection was lost for ${elapsed(value.awayS)}; ${counted(value.lines, 'line')} caught up.`);
  });
  onResync(() => toast('The log was restarted and was read again.'));
}

/** Below the page, so that nothing moves: what is shown may be old. */
const Away = () => (isAway()
  ? html`<p class="away" role="status">The daemon does not answer. What you see is what was known last, and nothing can be changed;
      the page goes on by itself when it is back. <code>${typed('status')}</code> tells more.</p>` : null);

function bindKeys() {
  const places = [...document.querySelectorAll('.top nav a')].map((link) => (
    [`g ${link.dataset.key}`, [`go to ${link.textContent.trim()}`, () => link.click()]]));
  keys({
    '?': ['this help', () => { isHelpOpen.value = true; }],
    'Ctrl+K': ['find tasks, settings, actions, log and prompts', openPalette],
    '/': ['search or filter', () => document.querySelector('[data-search]')?.focus()],
    ...Object.fromEntries(places),
  });
}

/** An update of the daemon changes the pages too; they say so rather than mix. */
function followVersion() {
  const first = status.peek()?.version;
  effect(() => {
    const now = status.data?.version;
    if (first && now && now !== first) toast(html`The daemon is now ${now}. <a href="">Reload the page</a>`);
  });
}

/** Listens only when all parts of the page do: an event that came before them would be lost on them. */
function Begin() {
  useEffect(() => {
    startState();
    startLive();
    setTimeout(() => answers.clear(), BOOT_MS);
  }, []);
}

/**
 * Draw a page; each page's script calls it once.
 * @param {Function} Page its component
 * @param {{title: string|(() => string)}} about a title that is a function of signals follows them
 */
export function mount(Page, {title}) {
  const main = document.getElementById('main');
  main.replaceChildren();
  render(html`<${Outage} /><${Safe}><${Page} /><//><${Begin} />`, main);
  render(html`<${Standing} />`, document.getElementById('standing'));
  render(html`<${Toasts} />`, document.getElementById('toasts'));
  render(html`<${Away} /><${Help} /><${Confirm} /><${Palette} />`, document.getElementById('above'));
  followMood(title);
  startClock();
  startKeys();
  startPalette();
  bindKeys();
  followConnection();
  followVersion();
}
