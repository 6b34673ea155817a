// The state of the daemon, shared by all parts of a page.

import {fault, post, source} from './api.js';
import {connection, whenever} from './live.js';
import {toast} from './toasts.js';

/** The newest answer of `/api/status`; `status.data` is null until the first answer has arrived. */
export const status = source('/api/status');

const POLL_MS = 30_000;

/** True if the daemon does not answer. */
export const isAway = () => connection.value === 'reconnecting';

const OFFLINE = {state: 'offline', text: 'Offline', why: 'The daemon does not answer; the page continues by itself when it is back.', until: null};

/**
 * Return the daemon's overall state (`core/status.py`), or `OFFLINE` if it does not answer; null until the state is
 * known.
 */
export const overall = () => (isAway() ? OFFLINE : status.data?.overall ?? null);

/** True if no task starts because of a pause or a checkpoint. Only the owner can end these two. */
export const isHeldByOwner = (report) => report.holds.some(({source: by}) => by === 'owner' || by === 'checkpoint');

/** Keep the state up to date from now on. The shell calls this once. */
export function startState() {
  status.first();
  whenever(null, status.reload, 500);
  setInterval(() => document.hidden || status.reload(), POLL_MS);
}

/**
 * Send a change to the daemon and show the result as a message.
 * @param {string} path
 * @param {string} said the message on success; if empty, none is shown
 * @param {object} [body]
 * @returns {Promise<import('./api.js').Answered>}
 */
export async function act(path, said, body = undefined) {
  const answer = await post(path, body);
  if (!answer.ok) toast(fault(answer), 'bad');
  else if (said) toast(said, 'good');
  status.reload();
  return answer;
}
