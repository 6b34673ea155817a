// The commits of a task, each with its branch, the command that shows it, and the owner's actions on it.

import {Copy, Lines, quoted} from '../../app/copy.js';
import {DraftFacts, isDraft, testsOf} from '../../app/draft.js';
import {OnBranch} from '../../app/on_branch.js';
import {Button, Label, Moment, Pill} from '../../app/parts.js';
import {retryOne} from '../../app/queue_acts.js';
import {markRead} from '../../app/reads.js';
import {reapply, revert} from '../../app/revert.js';
import {ChangedTests, OpenCounts, OpenRemarks} from '../../app/remarks.js';
import {VerifyAgain} from '../../app/verify.js';
import {html} from '../../app/ui.js';

function Row({task, commit, isNewest}) {
  const again = commit.discarded_at ? `branch ${commit.branch} ${commit.commit}` : `show ${commit.commit.slice(0, 12)}`;
  const command = `git -C ${quoted(commit.repo)} ${again}`;
  const where = commit.integrated ? `on ${commit.target || 'its target'}` : `${commit.discarded_at ? 'was' : 'waits'} on ${commit.branch}${commit.target ? ` for ${commit.target}` : ''}`;
  return html`<li><${VerifyAgain} commit=${commit.commit}>${({button, result}) => html`
    <div class="commit"><code>${commit.commit.slice(0, 12)}</code><${Copy} text=${commit.commit} what="the commit's id" />
      <span>${where}</span><${Label} label=${commit.label} /><${OpenCounts} remarks=${commit.remarks} />
      ${commit.added || commit.removed ? html`<${Lines} added=${commit.added} removed=${commit.removed} />` : null}
      <span class="hint"><${Moment} at=${commit.at} /></span>
      ${commit.reverted_by ? html`<${Pill} status="warn">reverted by ${commit.reverted_by.slice(0, 10)}<//>` : null}
      ${commit.discarded_at ? html`<${Pill} status="warn">discarded<//>` : null}
      <span class="actions">
        <a class="button small" href=${`/api/commit/${commit.commit}/proof`} download>Proof</a>${button}
        ${commit.reviewed_at ? html`<span class="hint">read <${Moment} at=${commit.reviewed_at} /></span>`
          : html`<${Button} sends kind="small" onClick=${() => markRead('Marked as read.', undefined, `/api/task/${task.task_id}/reviewed`)}>Mark as read<//>`}
        ${isNewest && commit.waits ? html`<${OnBranch} commit=${commit} kind="small" />` : null}
        ${isNewest && commit.integrated ? commit.reverted_by ? html`<${Button} sends kind="small" onClick=${() => reapply(commit)}>Reapply…<//>`
    : html`<${Button} sends kind="danger small" onClick=${() => revert(commit)}>Revert…<//>` : null}
      </span></div>${result}`}<//>
    <p class="what">${commit.subject}</p>
    <${OpenRemarks} remarks=${commit.remarks} /><${ChangedTests} paths=${commit.changed_tests} /><${ChangedTests} paths=${commit.removed_tests} what="Removed" />
    <p class="command"><code>${command}</code><${Copy} text=${command} what="the command" /></p>
  </li>`;
}

/** The draft that an attempt left when it ended without a commit. */
const Draft = ({task, commit}) => html`<li class="draft">
  <div class="commit"><code>${commit.commit.slice(0, 12)}</code><${Copy} text=${commit.commit} what="the commit's id" />
    <span>on <b>${commit.branch}</b></span><${Pill} status="warn">draft<//><span>${testsOf(commit)}</span>
    ${commit.added || commit.removed ? html`<${Lines} added=${commit.added} removed=${commit.removed} />` : null}
    <span class="hint"><${Moment} at=${commit.at} /></span>
    ${commit.discarded_at ? html`<${Pill} status="warn">discarded<//>` : null}
    ${['failed', 'cancelled'].includes(task.status) && commit.waits ? html`<span class="actions">
      <${Button} sends kind="small" onClick=${() => retryOne(task, {from_draft: true})}>Retry from the draft<//>
      <${OnBranch} commit=${commit} kind="small" /></span>` : null}</div>
  <p class="what">${commit.subject}</p>
  ${commit.waits ? html`<${DraftFacts} commit=${commit} />` : null}
</li>`;

/** All commits of the task, newest first. */
export function Commits({task, commits}) {
  if (!commits?.length) {
    return task.commit ? html`<p>Commit <code>${task.commit.slice(0, 12)}</code> on <code>${task.branch}</code></p>` : null;
  }
  const title = commits.every(isDraft) ? 'Draft' : commits.length === 1 ? 'Commit' : 'Commits';
  return html`<h2>${title}</h2><ul class="plain commits">${commits.map((commit, index) => html`
    ${isDraft(commit) ? html`<${Draft} key=${commit.id} task=${task} commit=${commit} />`
    : html`<${Row} key=${commit.id} task=${task} commit=${commit} isNewest=${index === 0} />`}`)}</ul>`;
}
