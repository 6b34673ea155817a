// Unread commits, each with its size, its evidence, and buttons that mark it as read, show it or revert it.

import {OnBranch} from '../../app/on_branch.js';
import {Button, Label, Moment, confirmed} from '../../app/parts.js';
import {markRead} from '../../app/reads.js';
import {revert} from '../../app/revert.js';
import {ChangedTests, OpenCounts, OpenRemarks} from '../../app/remarks.js';
import {counted} from '../../app/text.js';
import {classes, html} from '../../app/ui.js';
import {Copy, Lines, quoted} from '../../app/copy.js';

const SHOWN = 6;

const File = ({file}) => html`<li><code>${file.path}</code> ${file.added === null ? html`<span class="hint">binary</span>`
  : html`<${Lines} added=${file.added} removed=${file.removed} />`}</li>`;

const Files = ({commit}) => (commit.files?.length ? html`<ul class="files">
  ${commit.files.slice(0, SHOWN).map((file) => html`<${File} key=${file.path} file=${file} />`)}
  ${commit.file_count > SHOWN ? html`<li class="hint">${counted(commit.file_count - SHOWN, 'more file')}</li>` : null}</ul>` : null);

function Commit({commit, walk}) {
  const name = `commit-${commit.id}`;
  const isAt = walk.at.value === name;
  const command = `git -C ${quoted(commit.repo)} show ${commit.commit.slice(0, 12)}`;
  const isStanding = commit.integrated && !commit.reverted_by;
  return html`<li id=${name} class=${classes('item', {at: isAt})} aria-current=${isAt ? 'true' : undefined} data-commit=${commit.commit}
    onClick=${() => { walk.at.value = name; }}>
    <p class="whose"><a href=${`/task/${commit.task_id}`}><span class="number">#${commit.task_id}</span> ${commit.subject}</a></p>
    <p class="facts-line"><code>${commit.commit.slice(0, 12)}</code> <${Label} label=${commit.label} /><${OpenCounts} remarks=${commit.remarks} />
      <span>${commit.integrated ? html`on <b>${commit.target}</b>` : html`waits on <b>${commit.branch}</b>`}</span>
      ${commit.file_count === null ? null : html`<span>${counted(commit.file_count, 'file')} <${Lines} added=${commit.added} removed=${commit.removed} /></span>`}
      <span class="hint"><${Moment} at=${commit.at} /></span></p>
    <${OpenRemarks} remarks=${commit.remarks} /><${ChangedTests} paths=${commit.changed_tests} /><${ChangedTests} paths=${commit.removed_tests} what="Removed" />
    <${Files} commit=${commit} />
    <div class="acts">
      <${Button} sends onClick=${() => markRead('Marked as read.', {commit: commit.commit})}>Mark as read<//>
      <a role="button" class="button" href=${`/review?task=${commit.task_id}#${commit.commit}`}>Look at the change</a>
      ${commit.waits ? html`<${OnBranch} commit=${commit} />` : null}
      ${isStanding ? html`<${Button} sends kind="danger" onClick=${() => revert(commit)}>Revert…<//>` : null}
      <span class="command hint"><code>${command}</code><${Copy} text=${command} what="the command" /></span>
    </div>
  </li>`;
}

async function readAll(unread) {
  const isSure = await confirmed({
    title: `Mark ${counted(unread, 'commit')} as read?`,
    text: 'All unread commits are marked as read, including those that are not on this page.',
    yes: 'Mark all as read',
    no: 'Leave them unread',
  });
  if (isSure) await markRead('All are marked as read.', {all: true});
}

/** The list of unread commits. @param {{commits: object[], unread: number, walk: import('./walk.js').Walk}} props */
export const Commits = ({commits, unread, walk}) => html`
  <ul class="plain items">${commits.map((commit) => html`<${Commit} key=${commit.id} commit=${commit} walk=${walk} />`)}</ul>
  <div class="end"><p class="hint">${unread > commits.length ? `The newest ${commits.length} of ${unread}.` : ''}</p>
    <${Button} sends onClick=${() => readAll(unread)}>Mark all as read…<//></div>`;
