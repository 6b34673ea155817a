// The git card: the newest commits, the number of unread ones, and the repositories with the state of their pushes.

import {useData} from '../../app/api.js';
import {Button, Card, Empty, Loaded, Moment, Pill} from '../../app/parts.js';
import {MOVED, Push, nameOf, standing} from '../../app/repository.js';
import {markRead} from '../../app/reads.js';
import {counted, firstLine, words} from '../../app/text.js';
import {html} from '../../app/ui.js';

const SHOWN = 6;
const COMMITTED = ['commit_recorded', 'integrated', 'discarded', 'reverted', 'reviewed', 'database_restored'];

const Commit = ({commit}) => html`<li class="commit" data-commit=${commit.commit}>
  <p><a href=${`/task/${commit.task_id}`} title=${commit.subject}>${firstLine(commit.subject, 90)}</a>
    ${commit.reverted_by ? html`<${Pill} status="bad">reverted<//>` : commit.reviewed_at ? null : html`<${Pill} status="ask">unread<//>`}</p>
  <small><code>${commit.commit.slice(0, 8)}</code> ${commit.target || commit.branch}
    ${commit.label ? ` · ${words(commit.label)}` : ''}${' · '}<${Moment} at=${commit.at} /></small></li>`;

function Repository({state}) {
  const {repo, status, ours, error} = state;
  return html`<li class="repository" data-repo=${repo}>
    <p><a href=${`/repositories?repo=${encodeURIComponent(repo)}`} title=${repo}>${nameOf(state)}</a> ${status?.branch ? html`<code>${status.branch}</code>` : null}</p>
    ${error ? html`<small class="bad">${error}</small>`
    : html`<small>${counted(ours.commits, 'commit')} of Nightshift · <${Push} state=${state} /></small>
      ${standing(state) ? html`<small>${standing(state)}</small>` : null}`}</li>`;
}

function Repositories() {
  const found = useData('/api/git', {}, MOVED);
  return html`<${Loaded} of=${found}>${({repositories, more, at, auto_push: pushes}) => (repositories.length ? html`
    <p class="hint">${counted(repositories.length + more, 'repository', 'repositories')},
      ${' '}${pushes ? 'pushed after each integration' : 'pushed by you'}</p>
    <ul class="plain repositories">${repositories.map((each) => html`<${Repository} key=${each.repo} state=${each} />`)}</ul>`
    : at === null ? html`<p class="hint">Repositories are being checked.</p>` : null)}<//>`;
}

const readAll = async (source) => {
  await markRead('All commits are marked as read.', {all: true});
  await source.reload();
};

export function Git() {
  const commits = useData('/api/commits', {limit: SHOWN}, COMMITTED);
  const unread = commits.data?.unread ?? 0;
  return html`<${Card} title="Git" hint=${unread ? html`<a href="/review">${counted(unread, 'commit')} to read</a>` : null}
    actions=${unread ? html`<${Button} sends kind="bare small" onClick=${() => readAll(commits)}>Mark all as read<//>` : null}>
    <${Loaded} of=${commits}>${({commits: newest}) => (newest.length
      ? html`<ul class="plain">${newest.map((each) => html`<${Commit} key=${each.id} commit=${each} />`)}</ul>`
      : html`<${Empty}>No commit yet. The first appears here as soon as a task's tests pass.<//>`)}<//>
    <h3>Repositories</h3>
    <${Repositories} />
  <//>`;
}
