// The owner's actions on a commit that waits on a task's branch: integrate the commit, or discard the branch.

import {fault, post} from './api.js';
import {Copy} from './copy.js';
import {confirmed} from './dialogs.js';
import {Button} from './forms.js';
import {Prose} from './marks.js';
import {status} from './state.js';
import {UNDO_MS, toast} from './toasts.js';
import {html} from './ui.js';

const LEAVE = 'Leave it on its branch';

/** A text from the daemon with its line breaks. Text in backticks is shown as code. */
const Lined = ({text}) => text.split('\n').map((line, at) => html`${at ? html`<br />` : null}<${Prose} text=${line} />`);

const nameOf = (commit) => (commit.subject ? `“${commit.subject}”` : `the commit of task ${commit.task_id}`);

async function sendIntegrate(commit, force) {
  const done = post(`/api/task/${commit.task_id}/integrate`, {force});
  toast(force ? 'Integrating it.' : 'Integrating. If there is newer work, its tests run first.');
  const answer = await done;
  status.reload();
  return answer;
}

/**
 * Integrate a commit after a confirmation. If its tests fail or cannot be run, offer to integrate it without running
 * them.
 * @param {{task_id: number, subject?: string, target?: string, label?: string}} commit
 * @param {() => any} [reload] called when the commit is integrated
 */
export async function integrate(commit, reload) {
  const isSure = await confirmed({
    title: `Integrate ${nameOf(commit)}?`,
    text: html`It is put on top of ${commit.target ? html`<code>${commit.target}</code>` : 'its base branch'}. If that has newer work, the tests run on both together first.${
      commit.label === 'draft' ? html` <b>It is a draft:</b> it did not pass when it was made.` : null}`,
    no: LEAVE,
    yes: 'Integrate',
  });
  if (!isSure) return;
  let answer = await sendIntegrate(commit, false);
  if (answer.data?.fields?.force) {
    const [why] = answer.data.error.split('\n'); // the other lines say how to force it on the command line
    if (!await confirmed({title: 'It was not integrated', text: why, no: LEAVE, yes: 'Integrate without a run', danger: true})) return;
    answer = await sendIntegrate(commit, true);
  }
  if (!answer.ok) return toast(html`<${Lined} text=${answer.data.error ?? fault(answer)} />`, 'bad');
  const {already, commit: made, target, judged} = answer.data;
  toast(html`${already ? 'It is there already:' : 'Integrated:'} <code>${made.slice(0, 10)}</code> on <code>${target}</code>. ${judged}`, 'good');
  return reload?.();
}

/**
 * Remove the branch of a commit after a confirmation, and show the command that restores the branch.
 * @param {{task_id: number, branch: string, subject?: string}} commit
 * @param {() => any} [reload] called when the branch is removed
 */
export async function discard(commit, reload) {
  const isSure = await confirmed({
    title: `Discard ${nameOf(commit)}?`,
    text: html`The branch <code>${commit.branch}</code> is removed. You will get a command that restores it.`,
    no: 'Keep the branch',
    yes: 'Discard',
    danger: true,
  });
  if (!isSure) return;
  const answer = await post(`/api/task/${commit.task_id}/discard`);
  status.reload();
  if (!answer.ok) return toast(html`<${Lined} text=${answer.data.error ?? fault(answer)} />`, 'bad');
  const {undo, is_at_remote: isAtRemote} = answer.data;
  toast(html`Discarded. This restores the branch: <code>${undo}</code><${Copy} text=${undo} what="the command" />${
    isAtRemote ? ' The remote still has it.' : ''}`, 'good', UNDO_MS);
  return reload?.();
}

/** The buttons for both actions. `kind` is the style of the buttons, and `reload` is called after an action. */
export const OnBranch = ({commit, kind = '', reload}) => html`
  <${Button} sends kind=${kind} title=${`put it on ${commit.target || 'its base branch'}`} onClick=${() => integrate(commit, reload)}>Integrate…<//>
  <${Button} sends kind=${`danger ${kind}`} title=${`remove ${commit.branch}`} onClick=${() => discard(commit, reload)}>Discard…<//>`;
