// Details of a line of the log, shown below the line: its data, and actions on the line.

import {fault, get} from '../../app/api.js';
import {here} from '../../app/boot.js';
import {el} from '../../app/logline.js';
import {toast} from '../../app/toasts.js';
import {clock, day} from '../../app/text.js';
import {change, clear, isFiltered} from './filter.js';

const FACTS = [['attempt', 'attempt'], ['iteration', 'iteration'], ['phase', 'phase'], ['worker', 'worker']];

/** Show the details of a row, or remove them if they are shown. */
export async function toggle(row, open) {
  const shown = row.querySelector('.detail');
  if (shown) {
    shown.remove();
    return;
  }
  const box = el('div', 'detail', '…');
  row.append(box);
  const answer = await get('/api/logs', {after: Number(row.id.slice(1)) - 1, limit: 1});
  const line = answer.data?.events?.[0];
  if (!answer.ok) box.textContent = fault(answer);
  else if (line?.id !== Number(row.id.slice(1))) box.textContent = 'This line is no longer in the log.';
  else box.replaceChildren(...parts(line, open));
}

function parts(line, open) {
  const facts = el('p', 'facts');
  const known = FACTS.filter(([name]) => line[name] !== null).map(([name, said]) => `${said} ${line[name]}`);
  facts.textContent = [`line ${line.id}`, `${day(line.timestamp)} ${clock(line.timestamp)}`, ...known].join(' · ');
  const hasData = Object.keys(line.data).length > 0;
  const data = hasData ? [el('pre', 'wrap', JSON.stringify(line.data, null, 2))] : [];
  const actions = el('p', 'actions');
  actions.append(...doings(line, open).map(([what, fn]) => button(what, fn)));
  return [facts, ...data, actions];
}

function doings(line, open) {
  return [
    ['Copy link', () => copyLink(line.id)],
    isFiltered() && ['In context', () => {
      clear();
      open({line: line.id});
    }],
    line.task_id !== null && [`Only task #${line.task_id}`, () => only({task: String(line.task_id)}, line, open)],
    line.worker && [`Only ${line.worker}`, () => only({worker: line.worker}, line, open)],
    [`Only ${line.event}`, () => only({kind: line.event}, line, open)],
  ].filter(Boolean);
}

function only(parts_, line, open) {
  change(parts_);
  open({line: line.id});
}

function button(what, fn) {
  const made = el('button', 'small', what);
  made.type = 'button';
  made.addEventListener('click', fn);
  return made;
}

/** Copy to the clipboard an address that shows a line together with the lines around it. */
export async function copyLink(id) {
  const address = `${location.origin}${here('/logs')}#L${id}`;
  try {
    await navigator.clipboard.writeText(address);
    toast(`Copied: ${address}`, 'good');
  } catch {
    toast(`The browser does not let this page copy; the link is ${address}`);
  }
}
