// Builds a line of the log as an element, without a framework, because a page may have a hundred thousand lines.
//
// Texts become text nodes, never markup.

import {here} from './boot.js';
import {clock, day} from './text.js';

/** @typedef {{id: number, timestamp: string, level: string, event: string, message: string, task_id: number|null,
 *   worker: string|null, data: object}} LogLine */

/** Create an element with a class and a text. The caller appends child elements. */
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

/** Return the URL fragment for a log line on its task's page: its step, else its attempt (see pages/task/place.js). */
function placeOf({attempt, iteration, data}) {
  if (attempt === null) return '';
  const isStep = Number.isInteger(data?.step_no) && iteration !== null;
  return `#${attempt}${isStep ? `-${iteration}-${data.step_no}` : ''}`;
}

/** Format a time as local time, such as `11-22 09:05:07`. */
export const stamp = (at) => `${day(at).slice(5)} ${clock(at)}`;

/** Matches terminal colour codes. In the log, their escape character is written as the four characters `\x1b`. */
const COLOURS = /\\x1b\[[\d;:]*m/g;

/** Set the text of an element to the message of a line, without terminal colour codes. */
export function spoken(into, line) {
  into.textContent = line.message.replace(COLOURS, '');
  return into;
}

const LEVEL = 7;
const TASK = 6;
const EVENT = 21;

/**
 * Return the spaces that fill up a column. Columns are made of spaces, because the browser lays out monospaced text
 * faster than a grid.
 */
const pad = (text, width) => ' '.repeat(Math.max(0, width - text.length) + 1);

/**
 * Create the list item of a line, with the id `L<id>`. Its columns are 14, 7, 6 and 21 characters wide (app/parts.css).
 *
 * To keep the number of nodes small, the spaces between columns are part of the text of a column. Texts that can be
 * computed when they are needed are not stored in attributes.
 * @param {LogLine} line
 * @param {boolean} [withTask] false omits the task's number, for the task's own page
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
