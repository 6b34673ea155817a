// What waits for the owner's decision: the same list on the overview and on a task's page.

import {byId, el, moment} from './dom.js';
import {ask} from './net.js';

const box = byId('approvals');
const list = byId('asks');
const error = byId('ask-error');

function button(granted, text) {
  return el('button', {type: 'button', class: granted ? 'main' : null, 'data-granted': String(granted)}, text);
}

/** One ask, as `ask_row` in templates/parts.html. */
function row(approval) {
  const isQuestion = approval.kind === 'question';
  const named = approval.subject && !isQuestion;
  return el('li', {'data-approval': approval.approval_id},
    el('p', {class: 'question'}, approval.question),
    el('p', {class: 'hint'}, el('a', {href: `/task/${approval.task_id}`}, `#${approval.task_id}`), ` · ${approval.kind} · `,
      named ? el('code', {}, approval.subject) : null, named ? ' · ' : null, moment(approval.asked_at)),
    approval.assumed_at ? el('p', {class: 'hint'}, 'Assumed ', moment(approval.assumed_at),
      ', where nobody answers: ', el('b', {}, approval.default)) : null,
    el('div', {class: 'actions'},
      isQuestion ? el('input', {type: 'text', 'aria-label': 'Answer', maxlength: 2000, placeholder: approval.default}) : null,
      button(true, isQuestion ? 'Answer' : 'Approve'), button(false, isQuestion ? 'Decline' : 'Deny')));
}

const shownIds = () => [...list.children].map((item) => item.dataset.approval).join();

/**
 * Keeps the list of the page up to date and its buttons at work.
 * @param {object} query `task` for those of one task
 * @param {function} decided called after each decision
 * @returns {function} looks again
 */
export function approvals(query, decided) {
  const path = `/api/approvals?${new URLSearchParams({open: 1, ...query})}`;
  const look = async () => {
    const answer = await ask(path);
    if (!answer.ok) return;
    const rows = answer.data.approvals;
    box.hidden = !rows.length;
    // The same list is left as it is: somebody may be writing an answer.
    if (rows.map((approval) => approval.approval_id).join() !== shownIds()) list.replaceChildren(...rows.map(row));
  };
  list.addEventListener('click', async (event) => {
    const chosen = event.target.closest('button[data-granted]');
    if (!chosen) return;
    const item = chosen.closest('[data-approval]');
    const buttons = item.querySelectorAll('button');
    buttons.forEach((each) => { each.disabled = true; });
    const answer = await ask(`/api/approvals/${item.dataset.approval}`,
      {granted: chosen.dataset.granted === 'true', answer: item.querySelector('input')?.value ?? ''});
    buttons.forEach((each) => { each.disabled = false; });
    error.textContent = answer.ok ? '' : answer.data.error;
    error.hidden = answer.ok;
    await look();
    decided();
  });
  list.querySelectorAll('button').forEach((each) => { each.disabled = false; });
  return look;
}
