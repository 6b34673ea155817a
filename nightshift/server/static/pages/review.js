// The review page. It shows one commit at a time, riskiest first, with its change and its verdict side by side.

import {address, useData} from '../app/api.js';
import {go} from '../app/boot.js';
import {isDraft} from '../app/draft.js';
import {useKeys} from '../app/keys.js';
import {OnBranch, discard, integrate} from '../app/on_branch.js';
import {Button, Card, Empty, Loaded, Moment} from '../app/parts.js';
import {mount} from '../app/shell.js';
import {clock, counted, day} from '../app/text.js';
import {classes, html} from '../app/ui.js';
import {Change} from '../app/difference.js';
import {Level, Verdict} from './review/verdict.js';
import {swipes} from './review/swipe.js';
import {isSettled, useStack} from './review/stack.js';

const KINDS = ['commit_recorded', 'integrated', 'discarded', 'reviewed', 'reverted'];
const GIVEN = ['task', 'integrated', 'drafts', 'since', 'until'];

/** Return the query for the commits that the page's address selects; by default all unread commits. */
function asked() {
  const given = new URLSearchParams(location.search);
  const query = Object.fromEntries(GIVEN.filter((name) => given.get(name)).map((name) => [name, given.get(name)]));
  return {order: 'risk', limit: 100, ...(Object.keys(query).length ? query : {unread: 1})};
}

const at = (text) => (text === 'today' ? text : `${day(text)} ${clock(text).slice(0, 5)}`);

/** Describe in a title which commits are shown. */
function titleOf({task, integrated, drafts, since, until}) {
  const what = task ? `Commits of task ${task}` : integrated === '1' ? 'Landed' : integrated === '0' ? 'On a branch'
    : drafts === '1' ? 'Drafts' : since ? 'Commits' : 'Not read yet';
  return `${what}${since ? ` since ${at(since)}` : ''}${until ? ` until ${at(until)}` : ''}`;
}

const Row = ({commit, isAt, go}) => html`<li>
  <a href=${`#${commit.commit}`} class=${classes('in-stack', {at: isAt, settled: isSettled(commit)})} aria-current=${isAt ? 'true' : undefined}
    data-commit=${commit.commit} onClick=${(event) => { event.preventDefault(); go(commit); }}>
    <${Level} risk=${commit.risk} /><span class="subject">${commit.subject}</span>
    <small>#${commit.task_id} · ${isDraft(commit) ? 'draft' : commit.reverted_by ? 'reverted' : commit.discarded_at ? 'discarded' : commit.reviewed_at ? 'read' : html`<${Moment} at=${commit.at} />`}</small></a></li>`;

function One({stack, commit}) {
  const {place, many} = stack;
  return html`<section class="one" aria-label=${commit.subject} ...${swipes({left: stack.next, right: stack.previous})}>
    <div class="one-head">
      <h2><a href=${`/task/${commit.task_id}`}><span class="number">#${commit.task_id}</span> ${commit.subject}</a></h2>
      <div class="actions">
        <${Button} kind="bare" onClick=${stack.previous} disabled=${place === 0} aria-label="Previous commit" title="previous (k)">‹<//>
        <span class="hint number">${place + 1} of ${many}</span>
        <${Button} kind="bare" onClick=${stack.next} disabled=${place === many - 1} aria-label="Next commit" title="next (j)">›<//>
        ${commit.integrated && !commit.reverted_by ? html`<${Button} sends kind="danger" onClick=${stack.revert} title="revert it with a new commit (r)">Revert…<//>` : null}
        ${commit.waits ? html`<${OnBranch} commit=${commit} reload=${stack.reload} />` : null}
        ${isDraft(commit) ? null : commit.reviewed_at ? html`<span class="hint">read <${Moment} at=${commit.reviewed_at} /></span>`
    : html`<${Button} sends kind="main" onClick=${stack.read} title="mark as read and next (m)">Read, next<//>`}
      </div>
    </div>
    <div class="change-and-verdict">
      <section class="change" aria-label="Change">
        ${commit.asked && commit.asked !== commit.subject ? html`<p class="asked" dir="auto">${commit.asked}</p>` : null}
        <${Change} key=${commit.commit} path=${address(`/api/task/${commit.task_id}/diff`, {})} /></section>
      <${Verdict} commit=${commit} />
    </div>
  </section>`;
}

const Done = ({isFiltered}) => html`<${Empty}>${isFiltered ? html`No commit matches. <a href="/review">Show unread commits</a>`
  : html`You have read every commit. <a href="/review?integrated=1&since=today">What landed today</a> ·
    <a href="/review?drafts=1">Drafts</a>`}<//>`;

function Stack({query, found, unread, reload}) {
  const stack = useStack(found, reload);
  useKeys({
    j: ['next commit', stack.next],
    k: ['previous commit', stack.previous],
    m: ['mark as read and next', stack.read],
    r: ['revert the commit', stack.revert],
    i: ['integrate a commit on a branch', () => stack.commit?.waits && integrate(stack.commit, stack.reload)],
    x: ['discard a commit on a branch', () => stack.commit?.waits && discard(stack.commit, stack.reload)],
    Enter: ['open the task', () => stack.commit && go(`/task/${stack.commit.task_id}`)],
  });
  if (!stack.commit) return html`<${Card} title=${titleOf(query)}><${Done} isFiltered=${!query.unread} /><//>`;
  return html`<div class="review">
    <nav class="stack" aria-label="Commits by risk"><h2>${titleOf(query)} <span class="hint">${counted(stack.many, 'commit')}</span></h2>
      <ol class="plain">${stack.rows.map((commit) => html`<${Row} key=${commit.id} commit=${commit} isAt=${commit.id === stack.commit.id} go=${stack.go} />`)}</ol>
      ${query.unread && unread > stack.many ? html`<p class="hint">The riskiest ${stack.many} of ${unread} unread commits.</p>` : null}
    </nav>
    <${One} stack=${stack} commit=${stack.commit} />
  </div>`;
}

function Review() {
  const query = asked();
  const found = useData('/api/commits', query, KINDS);
  return html`<h1 class="unseen">Review</h1>
    <${Loaded} of=${found}>${({commits, unread}) => html`<${Stack} query=${query} found=${commits} unread=${unread} reload=${found.reload} />`}<//>`;
}

mount(Review, {title: 'Review'});
