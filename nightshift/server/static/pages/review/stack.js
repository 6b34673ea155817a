// The commits of the review page, the position among them, and the actions on the current commit.

import {markRead} from '../../app/reads.js';
import {revert} from '../../app/revert.js';
import {toast} from '../../app/shell.js';
import {useRef, useSignal} from '../../app/ui.js';

/**
 * True if nothing is left to decide about a commit. This holds if it was discarded or, unless it is a draft, if it was
 * read or reverted.
 */
export const isSettled = (commit) => Boolean(commit.discarded_at || (commit.label !== 'draft' && (commit.reviewed_at || commit.reverted_by)));

/** Return the rows in their old order with new data. New rows are added at the end, so that the list does not move. */
function kept(before, found) {
  const now = new Map(found.map((commit) => [commit.id, commit]));
  const known = new Set(before.map(({id}) => id));
  return [...before.map((commit) => now.get(commit.id) ?? {...commit, reviewed_at: commit.reviewed_at ?? new Date().toISOString()}),
    ...found.filter(({id}) => !known.has(id))];
}

/**
 * Return the commits, the current one, and functions that move through them and act on the current one.
 * @param {object[]} found rows of `/api/commits`, riskiest first
 * @param {() => Promise<void>} reload requests the rows again
 */
export function useStack(found, reload) {
  const rows = useRef([]);
  const seen = useRef(null);
  const name = useSignal(location.hash.slice(1));
  if (seen.current !== found) {
    rows.current = kept(rows.current, found);
    seen.current = found;
  }
  const all = rows.current;
  const place = Math.max(0, all.findIndex((commit) => commit.commit === name.value));
  const commit = all[place] ?? null;
  const go = (to) => {
    if (!to) return;
    name.value = to.commit;
    history.replaceState(history.state, '', `#${to.commit}`);
    document.querySelector('.one')?.scrollIntoView({block: 'nearest'});
    document.querySelector(`.in-stack[data-commit="${to.commit}"]`)?.scrollIntoView({block: 'nearest'});
  };
  const now = useRef(null);
  now.current = {all, place, commit};
  const step = (by) => () => go(now.current.all[now.current.place + by]);
  /**
   * Go to the next commit that is not settled. The search begins below the current commit and continues from the top of
   * the list.
   */
  const goOn = () => {
    const {all: those, place: from} = now.current;
    const after = [...those.slice(from + 1), ...those.slice(0, from)];
    go(after.find((each) => !isSettled(each)));
  };
  const read = async () => {
    const {commit: mine} = now.current;
    if (!mine || mine.reviewed_at) return step(1)();
    const answer = await markRead(`“${mine.subject}” is marked as read.`, {commit: mine.commit});
    if (!answer.ok) return undefined;
    rows.current = rows.current.map((each) => (each.id === mine.id ? {...each, reviewed_at: new Date().toISOString()} : each));
    const isLast = rows.current.every(isSettled);
    goOn();
    if (isLast) toast('That was the last one.', 'good');
    return reload();
  };
  const takeBack = async () => {
    const {commit: mine} = now.current;
    if (!mine?.integrated || mine.reverted_by) return;
    await revert(mine, (by) => {
      rows.current = rows.current.map((each) => (each.id === mine.id ? {...each, reverted_by: by} : each));
      return reload();
    });
  };
  return {rows: all, many: all.length, place, commit, go, next: step(1), previous: step(-1), read, revert: takeBack, reload};
}
