// Git: repositories and whether they are pushed, the newest commits, and how many wait to be read.

import {useData} from '../../app/api.js';
import {Button, Card, Empty, Loaded, Moment, Pill} from '../../app/parts.js';
import {act} from '../../app/shell.js';
import {counted, firstLine, words} from '../../app/text.js';
import {html} from '../../app/ui.js';

const SHOWN = 6;
const KINDS = ['committed', 'integrated', 'reverted', 'reviewed', 'pushed', 'push_failed'];

const Commit = ({commit}) => html`<li class="commit" data-commit=${commit.commit}>
  <a href=${`/task/${commit.task_id}`} title=${commit.subject}>${firstLine(commit.subject, 90)}</a>
  <small><code>${commit.commit.slice(0, 8)}</code> ${commit.target || commit.branch}
    ${commit.label ? ` · ${words(commit.label)}` : ''}${commit.reverted_by ? html` · <span class="bad">taken back</span>` : null}
    ${' · '}<${Moment} at=${commit.at} />${commit.reviewed_at || commit.reverted_by ? null : html` <${Pill} status="ask">unread<//>`}</small></li>`;

const readAll = async (source) => {
  await act('/api/commits/reviewed', 'All commits are marked as read.', {all: true});
  await source.reload();
};

export function Git() {
  const commits = useData('/api/commits', {limit: SHOWN}, KINDS);
  const unread = commits.data?.unread ?? 0;
  return html`<${Card} title="Git" hint=${unread ? `${counted(unread, 'commit')} to read` : null}
    actions=${unread ? html`<${Button} kind="bare small" onClick=${() => readAll(commits)}>Mark all as read<//>` : null}>
    <${Loaded} of=${commits}>${({commits: newest}) => (newest.length
      ? html`<ul class="plain">${newest.map((each) => html`<${Commit} key=${each.id} commit=${each} />`)}</ul>`
      : html`<${Empty}>No commit yet. The first appears here as soon as a task's tests pass.<//>`)}<//>
  <//>`;
}
