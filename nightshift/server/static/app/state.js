// The daemon's state as all parts of a page see it.

import {fault, post, source} from './api.js';
import {connection, whenever} from './live.js';
import {toast} from './toasts.js';

/** The newest `/api/status`; `status.data` is null until there is one. */
export const status = source('/api/status');

const POLL_MS = 30_000;

/** Whether the daemon does not answer. */
export const isAway = () => connection.value === 'reconnecting';

const OFFLINE = {state: 'offline', text: 'Offline', why: 'The daemon does not answer; the page goes on by itself when it is back.', until: null};

/** The daemon's state as the server makes it for everybody (`core/status.py`), or that there is no answer; null at first. */
export const overall = () => (isAway() ? OFFLINE : status.data?.overall ?? null);

/** Whether tasks are held back by something that the owner lifts himself. */
export const isHeldByOwner = (report) => report.holds.some(({source: by}) => by === 'owner' || by === 'checkpoint');

/** Keep the state fresh; the shell does it once. */
export function startState() {
  status.first();
  whenever(null, status.reload, 500);
  setInterval(() => document.hidden || status.reload(), POLL_MS);
}

/**
 * Send a change to the daemon and say how it went.
 * @param {string} path
 * @param {string} said when it is done; empty says nothing
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
