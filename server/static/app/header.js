// The right end of the header: connection, state, what needs the owner, pause, theme and help.

import {connection} from './live.js';
import {Button} from './forms.js';
import {Pill} from './marks.js';
import {isHelpOpen} from './help.js';
import {forGood} from './kept.js';
import {act, isHeldByOwner, status} from './state.js';
import {counted} from './text.js';
import {html, signal} from './ui.js';

const LIGHT = {
  connecting: ['', 'connecting'],
  live: ['on', 'live'],
  reconnecting: ['off', 'the daemon does not answer; trying again'],
};
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

function Pause({report}) {
  if (!PAUSABLE.has(report.state)) return null;
  return isHeldByOwner(report)
    ? html`<${Button} kind="main" id="pause" onClick=${() => act('/api/resume', 'Tasks are begun again.')}>Resume<//>`
    : html`<${Button} id="pause" title="begin no more tasks; what runs goes on"
        onClick=${() => act('/api/pause', 'Paused: no more tasks are begun until you resume.')}>Pause<//>`;
}

/** What the header says of the daemon. */
export function Standing() {
  const report = status.data;
  return html`
    <${Light} />
    ${report ? html`
      <${Pill} status=${report.state} />
      ${report.approvals ? html`<a class="needs" href="/inbox" title=${`${counted(report.approvals, 'task waits', 'tasks wait')} for you`}>
        <b>${report.approvals}</b> <span>to decide</span></a>` : null}
      <${Pause} report=${report} />` : null}
    <button type="button" class="bare icon" id="theme" onClick=${changeTheme}
      aria-label=${`Theme: ${theme.value}; change to ${NEXT[theme.value]}`} title=${`theme: ${theme.value}`}>${SIGN[theme.value]}</button>
    <button type="button" class="bare icon" aria-label="Keyboard help" title="keyboard help (?)"
      onClick=${() => { isHelpOpen.value = true; }}>?</button>`;
}
