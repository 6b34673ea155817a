// Commits that wait on their tasks' branches, newest first, with buttons that integrate or discard them.

import {useData} from '../../app/api.js';
import {Lines} from '../../app/copy.js';
import {OnBranch} from '../../app/on_branch.js';
import {Card, Label, Moment} from '../../app/parts.js';
import {html} from '../../app/ui.js';

const QUERY = {integrated: 0, limit: 5};
const KINDS = ['commit_recorded', 'integrated', 'discarded', 'reverted'];

const Row = ({commit, reload}) => html`<li data-task=${commit.task_id}>
  <${Label} label=${commit.label} />
  <p class="what"><a href=${`/review?task=${commit.task_id}#${commit.commit}`}><span class="number">#${commit.task_id}</span> ${commit.subject}</a>
    <small><code>${commit.branch}</code>${commit.target ? html` for <code>${commit.target}</code>` : null} <${Lines} added=${commit.added} removed=${commit.removed} /> · <${Moment} at=${commit.at} /></small></p>
  <span class="facts"><${OnBranch} commit=${commit} kind="small" reload=${reload} /></span>
</li>`;

/** A card with the newest five waiting commits. It is not shown if no commit waits. */
export function Waiting() {
  const found = useData('/api/commits', QUERY, KINDS);
  const commits = found.data?.commits ?? [];
  if (!commits.length) return null;
  const hint = html`<a href="/review?integrated=0">${found.data.next_after === null ? 'Review' : 'All of them'}</a>`;
  return html`<${Card} title="Waiting on a branch" id="waiting" hint=${hint}>
    <ul class="plain ended waiting">${commits.map((commit) => html`<${Row} key=${commit.id} commit=${commit} reload=${found.reload} />`)}</ul><//>`;
}
