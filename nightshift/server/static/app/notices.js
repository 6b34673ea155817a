// Notifications of this browser, for what its owner is told of in other ways too (the setting `notify_on`).
//
// What is worth a notice is decided by the server, which makes the same ones for the webhook. A lock keeps it to one tab,
// and the notice's id as its tag keeps what comes twice from being shown twice.

import {get} from './api.js';
import {go} from './boot.js';
import {gently, onLine} from './live.js';
import {signal} from './ui.js';

const KEPT = 'nightshift-notices';
const LOCK = 'nightshift-notices';
const PAUSE_MS = 1500;
const MOST = 5;

const canTell = () => 'Notification' in window && 'locks' in navigator;

/** Whether this browser tells. */
export const isTelling = signal(canTell() && localStorage.getItem(KEPT) === 'on' && Notification.permission === 'granted');

let cursor = null;
let begun = false;

function show(notice) {
  const shown = new Notification(notice.title, {body: notice.message, tag: notice.id});
  shown.onclick = () => {
    window.focus();
    if (notice.task_id !== null) go(`/task/${notice.task_id}`);
  };
}

async function ask() {
  const answer = await get('/api/notices', {after: cursor});
  if (!answer.ok) return;
  cursor = answer.data.last_id;
  if (isTelling.peek()) answer.data.notices.slice(-MOST).forEach(show);
}

const soon = gently(ask, PAUSE_MS);

function heard(line) {
  if (!isTelling.peek()) return;
  cursor ??= line.id - 1;
  soon();
}

/** Tell from now on, as long as this tab is open; the shell does it once. */
export function startNotices() {
  if (begun || !canTell()) return;
  begun = true;
  navigator.locks.request(LOCK, () => {
    onLine(heard);
    return new Promise(() => {}); // until the tab is closed
  });
}

/** Switch it on. @returns {Promise<string>} why that cannot be; empty when it is on */
export async function tellHere() {
  if (!canTell()) return 'This browser shows notifications only to pages of this machine or behind https.';
  const said = await Notification.requestPermission();
  if (said !== 'granted') return 'The browser does not allow it: permit notifications for this page, then switch it on again.';
  localStorage.setItem(KEPT, 'on');
  cursor = null;
  isTelling.value = true;
  return '';
}

export function tellNoMore() {
  localStorage.removeItem(KEPT);
  isTelling.value = false;
}

addEventListener('storage', ({key, newValue}) => {
  if (key === KEPT) isTelling.value = newValue === 'on';
});
