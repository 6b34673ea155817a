// The keyboard help, which lists all keys that have a function on the current page.

import {Dialog} from './dialogs.js';
import {bindings} from './keys.js';
import {html, signal} from './ui.js';

export const isHelpOpen = signal(false);

const Keys = ({sequence}) => sequence.split(' ').map((key, index) => html`${index ? ' then ' : ''}<kbd>${key}</kbd>`);

export function Help() {
  // If two bindings have the same key, the newer one takes effect and is the one that is listed.
  const table = new Map(bindings.value.map(({key, what}) => [key, what]));
  return html`<${Dialog} open=${isHelpOpen.value} title="Keyboard" onClose=${() => { isHelpOpen.value = false; }}>
    <dl class="keys">${[...table].map(([key, what]) => html`<dt key=${key}><${Keys} sequence=${key} /></dt><dd>${what}</dd>`)}</dl>
  <//>`;
}
