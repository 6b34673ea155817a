// Marks commits as read, and offers to undo this.

import {Button} from './forms.js';
import {act} from './state.js';
import {UNDO_MS, toast} from './toasts.js';
import {html} from './ui.js';

const PATH = '/api/commits/reviewed';
const SLICE = 500; // maximum of one request

async function takeBack(ids) {
  for (let at = 0; at < ids.length; at += SLICE) {
    const answer = await act(PATH, '', {undo: ids.slice(at, at + SLICE)});
    if (!answer.ok) return;
  }
  toast('Unread again.', 'good');
}

/**
 * Mark commits as read.
 * @param {string} said the message on success
 * @param {object} [body] the commits, as the API accepts them; not needed if the path identifies them
 * @param {string} [path]
 * @returns {Promise<import('./api.js').Answered>}
 */
export async function markRead(said, body = undefined, path = PATH) {
  const answer = await act(path, '', body);
  const ids = answer.ok ? answer.data.commits.map(({id}) => id) : [];
  if (ids.length) toast(html`${said} <${Button} sends kind="bare small" onClick=${() => takeBack(ids)}>Undo<//>`, 'good', UNDO_MS);
  return answer;
}
