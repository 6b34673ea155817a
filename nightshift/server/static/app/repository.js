// Texts about a repository: its name, whether its commits were pushed, and how it differs from its upstream.

import {Moment} from './marks.js';
import {counted} from './text.js';
import {html} from './ui.js';

/** Kinds of events that change the state of repositories. */
export const MOVED = ['integrated', 'commit_recorded', 'discarded', 'reverted', 'pushed', 'push_failed', 'checkout_left', 'task_submitted'];

export const nameOf = ({repo, is_own: isOwn}) => (isOwn ? 'own workspace' : repo.replace(/\/+$/, '').split('/').pop());

/** Says whether integrated commits were pushed to the remote. */
export function Push({state: {status, ours}}) {
  if (!status?.remote) return 'no remote';
  if (ours.unpushed) return html`<span class="warn" title=${status.remote}>${counted(ours.unpushed, 'commit')} to push</span>`;
  return ours.pushed_at ? html`<span title=${status.remote}>pushed <${Moment} at=${ours.pushed_at} /></span>`
    : html`<span title=${status.remote}>nothing to push</span>`;
}

/** Describe how the branch differs from its upstream, and how many files the owner changed by hand. */
export function standing({status}) {
  const {ahead, behind, upstream, changed} = status ?? {};
  const parts = [];
  if (ahead) parts.push(`${ahead} ahead of ${upstream}`);
  if (behind) parts.push(`${behind} behind ${upstream}`);
  if (changed) parts.push(`${counted(changed, 'file')} changed by hand`);
  return parts.join(', ');
}
