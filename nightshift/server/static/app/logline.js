// A line of the log as an element, built by hand: a page may hold a hundred thousand of them.
//
// A text becomes text nodes.

import {here} from './boot.js';
import {clock, day} from './text.js';

/** @typedef {{id: number, timestamp: string, level: string, event: string, message: string, task_id: number|null,
 *   worker: string|null, data: object}} LogLine */

/** An element with a class and a text; children are appended by the caller. */
export function el(tag, name = '', text = '') {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

function link(name, href, text) {
  const made = el('a', name, text);
  made.href = here(href);
  return made;
}

/** Where on the page of its task a line belongs: its step, else its attempt, as pages/task/place.js reads it. */
function placeOf({attempt, iteration, data}) {
  if (attempt === null) return '';
  const isStep = Number.isInteger(data?.step_no) && iteration !== null;
  return `#${attempt}${isStep ? `-${iteration}-${data.step_no}` : ''}`;
}

/** The local time of a moment: `11-22 09:05:07`. */
export const stamp = (at) => `${day(at).slice(5)} ${clock(at)}`;

/** What programs print to colour a text in a terminal; the log has the escape character as four visible ones. */
const COLOURS = /\\x1b\[[\d;:]*m/g;

/** Fill an element with a message, without the colours of terminals. */
export function spoken(into, line) {
  into.textContent = line.message.replace(COLOURS, '');
  return into;
}

const LEVEL = 7;
const TASK = 6;
const EVENT = 21;

/** What brings the next column to its place: letters of one width and blanks are laid out faster than any grid. */
const pad = (text, width) => ' '.repeat(Math.max(0, width - text.length) + 1);

/**
 * The line as a list's item; its id is `L<id>`. Its columns are 14, 7, 6 and 21 letters wide (app/parts.css). It has as
 * few nodes as it can: blanks belong to the column before or behind, and what can be said on demand is no attribute.
 * @param {LogLine} line
 * @param {boolean} [withTask] whether it names its task, which a task's own page need not
 */
export function row(line, withTask = true) {
  const made = el('li', `line ${line.level}`);
  made.id = `L${line.id}`;
  made.append(link('at', `/logs#L${line.id}`, stamp(line.timestamp)), el('span', 'level', ` ${line.level}${pad(line.level, LEVEL)}`));
  const event = `${line.event}${pad(line.event, EVENT)}`;
  const place = placeOf(line);
  if (!withTask) {
    made.append(place ? link('event', place, line.event) : el('span', 'event', line.event), pad(line.event, EVENT));
  } else if (line.task_id === null) {
    made.append(el('span', 'event', `${pad('', TASK)}${event}`));
  } else {
    const name = `#${line.task_id}`;
    made.append(link('about', `/task/${line.task_id}${place}`, name), el('span', 'event', `${pad(name, TASK)}${event}`));
  }
  made.append(spoken(el('span', 'text'), line));
  return made;
}
