// Keyboard shortcuts. All shortcuts of the page are in one table, which the keyboard help shows.

import {signal, useEffect} from './ui.js';

/** The current bindings, newest last. Each has the form `{key, what, fn}`. */
export const bindings = signal([]);

const PAUSE_MS = 900;
let begun = '';
let begunAt = 0;

const typing = (target) => target.closest?.('input, textarea, select, [contenteditable]') !== null
  && !['checkbox', 'radio', 'button'].includes(target.type);

// A key that the focused element handles itself, such as Enter on a button, is left to that element.
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

/** Start to listen to the keyboard. The shell calls this once. */
export const startKeys = () => addEventListener('keydown', pressed);

/**
 * Bind keys.
 * @param {Object<string, [string, (event: KeyboardEvent) => void]>} table maps a key to its description in the help and
 * its handler; `'g l'` means the key `g` followed by the key `l`
 * @returns {() => void} a function that removes the bindings
 */
export function keys(table) {
  const mine = Object.entries(table).map(([key, [what, fn]]) => ({key, what, fn}));
  bindings.value = [...bindings.peek(), ...mine];
  return () => { bindings.value = bindings.peek().filter((each) => !mine.includes(each)); };
}

/** Bind keys while a component is shown; `deps` has the same meaning as in `useEffect`. */
export const useKeys = (table, deps = []) => useEffect(() => keys(table), deps);

/** Bind a key that focuses the first element that matches a selector. */
export const useFocusKey = (key, what, selector) => useKeys({[key]: [what, () => document.querySelector(selector)?.focus()]});
