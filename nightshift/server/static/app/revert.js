// Reverts a commit after a confirmation and offers to undo that, or applies a reverted commit again.

import {fault, post} from './api.js';
import {confirmed} from './dialogs.js';
import {Button} from './forms.js';
import {status} from './state.js';
import {UNDO_MS, toast} from './toasts.js';
import {html} from './ui.js';

async function sendRevert(commit, isBack, force = false) {
  const done = post(`/api/task/${commit.task_id}/revert`, {reapply: isBack, force});
  toast('Running the tests that it reaches; this may take a while.');
  const answer = await done;
  status.reload();
  return answer;
}

async function bringBack(commit, mark) {
  const answer = await sendRevert(commit, true);
  toast(answer.ok ? 'Reapplied.' : fault(answer), answer.ok ? 'good' : 'bad');
  if (answer.ok) await mark(null);
}

/** Apply a reverted commit again after a confirmation. */
export async function reapply(commit) {
  const isSure = await confirmed({
    title: `Reapply “${commit.subject}”?`,
    text: html`A new commit on <code>${commit.target}</code> brings its change back, once the tests that its files reach have passed with it.`,
    no: 'Leave it out',
    yes: 'Reapply',
  });
  if (isSure) await bringBack(commit, () => {});
}

/**
 * Revert a commit after a confirmation. `mark` is called with the id of the reverting commit, and with null after an
 * undo.
 */
export async function revert(commit, mark = () => {}) {
  const isSure = await confirmed({
    title: `Revert “${commit.subject}”?`,
    text: html`A new commit on <code>${commit.target}</code> undoes it, once the tests that its files reach have passed without it. It can be reapplied.`,
    no: 'Keep it',
    yes: 'Revert',
    danger: true,
  });
  if (!isSure) return;
  let answer = await sendRevert(commit, false);
  if (!answer.ok && answer.status === 409 && await confirmed({title: 'It was not reverted', text: fault(answer), no: 'Keep it', yes: 'Revert anyway', danger: true})) {
    answer = await sendRevert(commit, false, true);
  } else if (!answer.ok) {
    toast(fault(answer), 'bad');
  }
  if (!answer.ok) return;
  const undo = () => bringBack(commit, mark);
  await mark(answer.data.by);
  toast(html`Reverted by <code>${answer.data.by.slice(0, 10)}</code>. ${answer.data.judged} <${Button} sends kind="bare small" onClick=${undo}>Undo<//>`, 'good', UNDO_MS);
}
