// The keyboard help: all keys with a function on this page.

import {Dialog} from './dialogs.js';
import {bindings} from './keys.js';
import {html, signal} from './ui.js';

export const isHelpOpen = signal(false);

const Keys = ({sequence}) => sequence.split(' ').map((key, index) => html`${index ? ' then ' : ''}<kbd>${key}</kbd>`);

export function Help() {
  // The binding added last takes effect, so it also wins here.
  const table = new Map(bindings.value.map(({key, what}) => [key, what]));
  return html`<${Dialog} open=${isHelpOpen.value} title="Keyboard" onClose=${() => { isHelpOpen.value = false; }}>
    <dl class="keys">${[...table].map(([key, what]) => html`<dt key=${key}><${Keys} sequence=${key} /></dt><dd>${what}</dd>`)}</dl>
  <//>`;
}
