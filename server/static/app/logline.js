// A line of the log as an element, built by hand: a page may hold a hundred thousand of them.
//
// A text becomes text nodes. Colours of terminals come from the server as pairs of class and text (server/ansi.py).

import {clock, day} from './text.js';

/** @typedef {{id: number, timestamp: string, level: string, event: string, message: string, task_id: number|null,
 *   worker: string|null, data: object, runs: [string, string][]|null}} LogLine */

/** An element with a class and a text; children are appended by the caller. */
export function el(tag, name = '', text = '') {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

function link(name, href, text) {
  const made = el('a', name, text);
  made.href = href;
  return made;
}

/** The local time of a moment: `11-22 09:05:07`. */
export const stamp = (at) => `${day(at).slice(5)} ${clock(at)}`;

/** Fill an element with a message, coloured where it has colours. */
export function spoken(into, line) {
  if (!line.runs) {
    into.textContent = line.message;
    return into;
  }
  into.append(...line.runs.map(([name, text]) => (name ? el('span', name, text) : document.createTextNode(text))));
  return into;
}

const LEVEL = 7;
const TASK = 6;
const EVENT = 21;

/** What brings the next column to its place: letters of one width and blanks are laid out faster than any grid. */
const pad = (text, width) => ' '.repeat(Math.max(0, width - text.length) + 1);

/**
 * The line as a list's item; its id is `L<id>`. Its columns are 14, 7, 6 and 21 letters wide (app/parts.css).
 * @param {LogLine} line
 * @param {boolean} [withTask] whether it names its task, which a task's own page need not
 */
export function row(line, withTask = true) {
  const made = el('li', `line ${line.level}`);
  made.id = `L${line.id}`;
  const at = link('at', `/logs#L${line.id}`, stamp(line.timestamp));
  at.title = `line ${line.id}, ${day(line.timestamp)} ${clock(line.timestamp)}`;
  made.append(at, ' ', el('span', 'level', line.level), pad(line.level, LEVEL));
  if (withTask) {
    const name = line.task_id === null ? '' : `#${line.task_id}`;
    if (name) made.append(link('about', `/task/${line.task_id}`, name));
    made.append(pad(name, TASK));
  }
  const event = el('span', 'event', line.event);
  if (line.worker) event.title = `${line.event}, by ${line.worker}`;
  made.append(event, pad(line.event, EVENT), spoken(el('span', 'text'), line));
  return made;
}
