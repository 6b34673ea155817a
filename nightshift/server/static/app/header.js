// The right end of the page's header: connection, state, open questions, pause, theme and help.

import {Button} from './forms.js';
import {Moment} from './marks.js';
import {isHelpOpen} from './help.js';
import {forGood} from './kept.js';
import {openPalette} from './palette.js';
import {connection} from './live.js';
import {act, isHeldByOwner, overall, status} from './state.js';
import {html, signal} from './ui.js';

const LIGHT = {connecting: ['', 'connecting'], live: ['on', 'live'], reconnecting: ['off', 'no connection']};
const NEXT = {auto: 'light', light: 'dark', dark: 'auto'};
const SIGN = {auto: '◐', light: '☀', dark: '☾'};
const PAUSABLE = new Set(['running', 'paused', 'checkpoint']);

const theme = signal(document.documentElement.dataset.theme ?? 'auto');

function changeTheme() {
  const next = NEXT[theme.value];
  theme.value = next;
  if (next === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  forGood.keep('theme', next);
}

function Light() {
  const [kind, said] = LIGHT[connection.value];
  return html`<span class=${`live ${kind}`} id="live" role="img" aria-label=${said} title=${said}></span>`;
}

/** The overall state of the daemon. It is a link to the inbox if questions wait for the owner. */
function State({report}) {
  const {state, text, why, until} = overall();
  const said = html`<span>${text}</span>${until && state === 'paused' ? html` <span class="until">until <${Moment} at=${until} form="short" /></span>` : null}`;
  return report.approvals && state !== 'offline'
    ? html`<a class=${`overall ${state}`} id="overall" href="/inbox" title=${why}>${said}</a>`
    : html`<span class=${`overall ${state}`} id="overall" title=${why}>${said}</span>`;
}

function Pause({report}) {
  if (!PAUSABLE.has(report.state)) return null;
  return isHeldByOwner(report)
    ? html`<${Button} sends kind="main" id="pause" onClick=${() => act('/api/resume', 'Tasks are started again.')}>Resume<//>`
    : html`<${Button} sends id="pause" title="start no more tasks; running ones continue"
        onClick=${() => act('/api/pause', 'Paused: no more tasks are started until you resume.')}>Pause<//>`;
}

/** The daemon's state and controls in the header. */
export function Standing() {
  const report = status.data;
  return html`
    <${Light} />
    ${report ? html`
      <${State} report=${report} />
      <${Pause} report=${report} />` : null}
    <button type="button" class="bare icon" id="palette" aria-label="Find" title="find tasks, settings, actions, log and prompts (Ctrl-K)"
      onClick=${openPalette}>⌕</button>
    <button type="button" class="bare icon" id="theme" onClick=${changeTheme}
      aria-label=${`Theme: ${theme.value}; change to ${NEXT[theme.value]}`} title=${`theme: ${theme.value}`}>${SIGN[theme.value]}</button>
    <button type="button" class="bare icon" aria-label="Keyboard help" title="keyboard help (?)"
      onClick=${() => { isHelpOpen.value = true; }}>?</button>`;
}
