// The log's page: new lines are appended, in sections that the browser need not lay out while they are out of sight.

import {byId, el, localClock, logRow} from './dom.js';
import {follow} from './net.js';

const SECTION = 250;
const MOST_SECTIONS = 40;

const log = byId('log');
const box = byId('follow');
let section = null;
let waiting = [];

function place(row) {
  if (!section || section.children.length >= SECTION) {
    section = el('ol', {class: 'section'});
    log.append(el('li', {class: 'holder'}, section));
    if (log.querySelectorAll(':scope > .holder').length > MOST_SECTIONS) log.querySelector('.holder').remove();
  }
  section.append(row);
}

// All lines of a burst are added at once; a timer, because a hidden tab draws no frames.
function flush() {
  const rows = waiting;
  waiting = [];
  rows.forEach((line) => place(logRow(line)));
  byId('no-lines').hidden = true;
  if (box.checked) log.scrollTop = log.scrollHeight;
}

log.addEventListener('scroll', () => {
  box.checked = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
});
box.addEventListener('change', () => {
  if (box.checked) log.scrollTop = log.scrollHeight;
});
byId('level').addEventListener('change', () => byId('filter').requestSubmit());

localClock(log);
log.scrollTop = log.scrollHeight;
const chosen = new URLSearchParams(location.search);
follow({after: log.dataset.after, level: chosen.get('level'), task: chosen.get('task')}, (line) => {
  if (!waiting.length) setTimeout(flush, 50);
  waiting.push(line);
});
