// Sends decisions on questions, and keeps the texts that the owner is typing.

import {fault, post} from './api.js';
import {status} from './state.js';
import {counted} from './text.js';
import {toast} from './toasts.js';
import {signal} from './ui.js';

const drafts = new Map();

/** Return the text that the owner is typing for a question, as a signal. It survives a reload of the list. */
export function draftOf(id) {
  if (!drafts.has(id)) drafts.set(id, signal(''));
  return drafts.get(id);
}

export const isQuestion = (ask) => ask.kind === 'question';

/**
 * Send a decision. If the owner typed an answer to a question, it is sent to the endpoint for answers. If a question is
 * granted without a text, the daemon uses its default answer.
 */
function sent(ask, granted, text) {
  const path = `/api/approvals/${ask.approval_id}`;
  if (isQuestion(ask) && granted && text) return post(`${path}/answer`, {answer: text});
  return post(path, {granted, answer: text});
}

function said(ask, granted, text) {
  if (!isQuestion(ask)) return granted ? 'Approved.' : 'Denied.';
  return granted && text ? 'Answered.' : `The task continues with: ${ask.default}`;
}

/** Decide one question, and report the result. @returns {Promise<boolean>} true if the question is decided */
export async function decide(ask, granted, typed) {
  const text = typed.trim();
  if (isQuestion(ask) && granted && !text && !ask.default) {
    toast('This question has no default; type an answer.', 'bad');
    return false;
  }
  const answer = await sent(ask, granted, text);
  toast(answer.ok ? said(ask, granted, text) : fault(answer), answer.ok ? 'good' : 'bad');
  if (answer.ok) drafts.delete(ask.approval_id);
  status.reload();
  return answer.ok;
}

/**
 * Decide several questions at once, and report those that could not be decided. @returns {Promise<boolean>} false if
 * the request failed
 */
export async function decideAll(ids, granted, remark) {
  const answer = await post('/api/decisions', {approvals: ids, granted, remark: remark.trim()});
  status.reload();
  if (!answer.ok) {
    toast(fault(answer), 'bad');
    return false;
  }
  const {decided, refused} = answer.data;
  if (decided.length) toast(`${counted(decided.length, 'ask')} ${granted ? 'approved' : 'denied'}.`, 'good');
  refused.forEach(({why}) => toast(why, 'bad'));
  return true;
}
