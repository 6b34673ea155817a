// Keyboard shortcuts: one table for all that is on the page, which the help shows.

import {signal, useEffect} from './ui.js';

/** What can be pressed now, newest last: `{key, what, fn}`. */
export const bindings = signal([]);

const PAUSE_MS = 900;
let begun = '';
let begunAt = 0;

const typing = (target) => target.closest?.('input, textarea, select, [contenteditable]') !== null
  && !['checkbox', 'radio', 'button'].includes(target.type);

// What a key does by itself to what has the focus comes first.
const acts = ({key, target}) => ['Enter', ' '].includes(key) && target.closest?.('a, button, summary, [role=tab]');

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (typing(event.target) || acts(event) || document.querySelector('dialog[open]')) return;
  const sequence = Date.now() - begunAt < PAUSE_MS && begun ? `${begun} ${event.key}` : event.key;
  const found = bindings.peek().findLast((each) => each.key === sequence)
    ?? bindings.peek().findLast((each) => each.key === event.key);
  begun = found ? '' : event.key;
  begunAt = Date.now();
  if (!found) return;
  event.preventDefault();
  found.fn(event);
}

/** Listen to the keyboard; the shell does it once. */
export const startKeys = () => addEventListener('keydown', pressed);

/**
 * Bind keys.
 * @param {Object<string, [string, (event: KeyboardEvent) => void]>} table by key, `'g l'` being one after the other:
 *   what it does, as the help says it, and the doing
 * @returns {() => void} unbinds them
 */
export function keys(table) {
  const mine = Object.entries(table).map(([key, [what, fn]]) => ({key, what, fn}));
  bindings.value = [...bindings.peek(), ...mine];
  return () => { bindings.value = bindings.peek().filter((each) => !mine.includes(each)); };
}

/** Bind keys while a component is shown; `deps` as for `useEffect`. */
export const useKeys = (table, deps = []) => useEffect(() => keys(table), deps);

/** A key that brings the focus to the first element that a selector finds. */
export const useFocusKey = (key, what, selector) => useKeys({[key]: [what, () => document.querySelector(selector)?.focus()]});
