// The frame of every page: header, title, icon, messages and keyboard help around the page's own content.

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

export {act, status} from './state.js';
export {UNDO_MS, toast} from './toasts.js';
export {useFocusKey} from './keys.js';

/** Milliseconds after which embedded answers that were not used are dropped, because they are outdated. */
const BOOT_MS = 10_000;

const icon = document.getElementById('icon');

/** For each state of the daemon, the page's icon and the prefix of the page's title. */
const MOODS = {
  offline: ['away', '✕ '], paused: ['held', '⏸ '], no_model: ['fault', '! '], needs_you: ['asks', ''], working: ['busy', '▶ '], idle: ['idle', ''],
};

function followMood(title) {
  // Load the icon `away` now. It is needed when the daemon cannot be reached, and could not be loaded then.
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
  onResync(() => toast('The log was restarted and has been reloaded.'));
}

/** A note that the data may be outdated. It is placed below the page, so that nothing moves when it appears. */
const Away = () => (isAway()
  ? html`<p class="away" role="status">The daemon does not answer. You see the last known state, and nothing can be changed;
      the page continues by itself when the daemon is back. <code>${typed('status')}</code> shows more.</p>` : null);

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

/** Offer to reload the page after an update of the daemon, because the new version may have other pages. */
function followVersion() {
  const first = status.peek()?.version;
  effect(() => {
    const now = status.data?.version;
    if (first && now && now !== first) toast(html`The daemon is now ${now}. <a href="">Reload the page</a>`);
  });
}

/**
 * Starts to listen to the stream once all parts of the page are mounted. Parts that are mounted after the start would
 * miss events.
 */
function Begin() {
  useEffect(() => {
    startState();
    startLive();
    setTimeout(() => answers.clear(), BOOT_MS);
  }, []);
}

/**
 * Draw a page. The script of each page calls this once.
 * @param {Function} Page the component of the page
 * @param {{title: string|(() => string)}} about a title that is a function is evaluated again when its signals change
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
