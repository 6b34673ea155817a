// Short messages at the edge of the page. Screen readers announce them.

import {html, signal} from './ui.js';

const SHOWN_MS = {good: 5000, plain: 7000, bad: 15000};
/** Milliseconds for which an undo button is shown. */
export const UNDO_MS = 10_000;
const shown = signal([]);
let made = 0;

const dismiss = (id) => { shown.value = shown.peek().filter((each) => each.id !== id); };

/**
 * Show a message for a few seconds.
 * @param {string|object} text a sentence, or markup
 * @param {'good'|'plain'|'bad'} [kind] a `bad` message is shown longer
 * @param {number} [shownMs] milliseconds for which the message is shown; the default depends on `kind`
 */
export function toast(text, kind = 'plain', shownMs = SHOWN_MS[kind]) {
  const id = ++made;
  shown.value = [...shown.peek().slice(-3), {id, text, kind}];
  setTimeout(dismiss, shownMs, id);
}

/** All messages that are currently shown. */
export const Toasts = () => shown.value.map(({id, text, kind}) => html`
  <p key=${id} class="toast ${kind}">
    <span>${text}</span>
    <button type="button" class="bare" aria-label="Dismiss" onClick=${() => dismiss(id)}>×</button>
  </p>`);
