// Keyboard control of the inbox. Keys move from row to row, first through questions and then commits, and act on the
// current row.

import {go} from '../../app/boot.js';
import {useKeys} from '../../app/keys.js';
import {act} from '../../app/shell.js';
import {toggle} from '../../app/table.js';
import {useRef, useSignal} from '../../app/ui.js';
import {decide, draftOf} from './deciding.js';

/**
 * The current row and the chosen rows. `at` is a signal of a row's name (`ask-3`, `commit-7`). `chosen` is a signal of
 * the set of ids of the chosen questions.
 * @typedef {{at: object, chosen: object}} Walk
 */

const element = (name) => document.getElementById(name);

/** Bind the keys of the inbox. @returns {Walk} */
export function useWalk(asks, commits, reload) {
  const at = useSignal(null);
  const chosen = useSignal(new Set());
  const now = useRef(null);
  now.current = {names: [...asks.map(({approval_id: id}) => `ask-${id}`), ...commits.map(({id}) => `commit-${id}`)], asks, commits, reload};
  const step = (by) => {
    const {names} = now.current;
    if (!names.length) return;
    const from = names.indexOf(at.peek());
    at.value = names[from < 0 ? 0 : Math.min(names.length - 1, Math.max(0, from + by))];
    element(at.peek())?.scrollIntoView({block: 'nearest'});
  };
  const ask = () => now.current.asks.find(({approval_id: id}) => `ask-${id}` === at.peek());
  const commit = () => now.current.commits.find(({id}) => `commit-${id}` === at.peek());
  const decided = async (granted) => {
    const found = ask();
    if (!found) return;
    const {names} = now.current;
    const next = names[names.indexOf(at.peek()) + 1] ?? null;
    if (await decide(found, granted, draftOf(found.approval_id).peek())) at.value = next;
    await now.current.reload();
  };
  const open = () => {
    const found = ask() ?? commit();
    if (found) go(`/task/${found.task_id}`);
  };
  useKeys({
    j: ['next', () => step(1)],
    k: ['previous', () => step(-1)],
    x: ['choose an ask, for several at once', () => ask() && toggle(chosen, ask().approval_id)],
    a: ['approve, or answer what is typed', () => decided(true)],
    d: ['deny', () => decided(false)],
    r: ['answer or note', () => element(at.peek())?.querySelector('input[type=text]')?.focus()],
    m: ['mark the commit as read', () => commit() && act('/api/commits/reviewed', 'Marked as read.', {commit: commit().commit})],
    Enter: ['open the task', open],
  });
  return {at, chosen};
}
