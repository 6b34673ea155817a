// A button that copies a text, a function that quotes a word for a shell, and an element with the numbers of added and
// removed lines.

import {toast} from './toasts.js';
import {html} from './ui.js';

/** Quote a word for a shell, as `shlex.quote` does. */
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`);

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied.');
  } catch {
    toast('The browser does not let this page copy; select the text instead.', 'bad');
  }
}

/** A button that copies `text`; `what` names the text for screen readers. */
export const Copy = ({text, what}) => html`<button type="button" class="bare small" title=${`copy ${what}`} aria-label=${`Copy ${what}`}
  onClick=${(event) => { event.preventDefault(); copy(text); }}><svg class="copy" viewBox="0 0 16 16" aria-hidden="true"><path d="M5.5 2.5h8v9h-8zM10.5 11.5v2h-8v-9h3" /></svg></button>`;

/** The numbers of added and removed lines. */
export const Lines = ({added, removed}) => html`<span class="number"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>`;
