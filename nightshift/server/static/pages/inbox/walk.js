// Keyboard control of the inbox. Keys move from question to question, and act on the current one.

import {go} from '../../app/boot.js';
import {decide, draftOf} from '../../app/deciding.js';
import {useKeys} from '../../app/keys.js';
import {toggle} from '../../app/table.js';
import {useRef, useSignal} from '../../app/ui.js';

/**
 * The current row and the chosen rows. `at` is a signal of a row's name, such as `ask-3`. `chosen` is a signal of
 * the set of ids of the chosen questions.
 * @typedef {{at: object, chosen: object}} Walk
 */

const element = (name) => document.getElementById(name);

/** Bind the keys of the inbox. @returns {Walk} */
export function useWalk(asks, reload) {
  const at = useSignal(null);
  const chosen = useSignal(new Set());
  const now = useRef(null);
  now.current = {names: asks.map(({approval_id: id}) => `ask-${id}`), asks, reload};
  const step = (by) => {
    const {names} = now.current;
    if (!names.length) return;
    const from = names.indexOf(at.peek());
    at.value = names[from < 0 ? 0 : Math.min(names.length - 1, Math.max(0, from + by))];
    element(at.peek())?.scrollIntoView({block: 'nearest'});
  };
  const ask = () => now.current.asks.find(({approval_id: id}) => `ask-${id}` === at.peek());
  const decided = async (granted) => {
    const found = ask();
    if (!found) return;
    const {names} = now.current;
    const next = names[names.indexOf(at.peek()) + 1] ?? null;
    if (await decide(found, granted, draftOf(found.approval_id).peek())) at.value = next;
    await now.current.reload();
  };
  useKeys({
    j: ['next', () => step(1)],
    k: ['previous', () => step(-1)],
    x: ['choose an ask, for several at once', () => ask() && toggle(chosen, ask().approval_id)],
    a: ['approve, or answer what is typed', () => decided(true)],
    d: ['deny', () => decided(false)],
    r: ['answer or note', () => element(at.peek())?.querySelector('input[type=text]')?.focus()],
    Enter: ['open the task', () => ask() && go(`/task/${ask().task_id}`)],
  });
  return {at, chosen};
}
