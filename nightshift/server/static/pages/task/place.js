// The position on the page. It is part of the address, so that a step, a test or a file can be shared as a link.

import {signal} from '../../app/ui.js';

/** The parts of the page, except for the course. */
export const PARTS = ['change', 'lessons', 'asked', 'log'];

/**
 * `part` is the shown part. For the course, `attempt` is the shown attempt (null is the newest), `step` and `iteration`
 * are the open step and its iteration, `tab` is the step's tab, and `item` is a test or a file in this tab.
 * @typedef {{part: string, attempt: number|null, iteration: number|null, step: number|null, tab: string, item: string}}
 * Place
 */

const NOWHERE = {part: 'course', attempt: null, iteration: null, step: null, tab: '', item: ''};
const COURSE = /^(\d+)(?:-(\d+)-(\d+))?$/;

/** Parse `#change`, `#2` or `#2-3-14/tests/test_a.py::test_b`. @returns {Place} */
export function parsed(hash) {
  const [head, tab = '', ...item] = hash.replace(/^#/, '').split('/');
  if (PARTS.includes(head)) return {...NOWHERE, part: head};
  const found = head.match(COURSE);
  if (!found) return NOWHERE;
  const [attempt, iteration = null, step = null] = found.slice(1).map((each) => (each === undefined ? null : Number(each)));
  return {part: 'course', attempt, iteration, step, tab, item: decoded(item.join('/'))};
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the fragment for a position. @param {Place} at */
export function written({part, attempt, iteration, step, tab, item}) {
  if (part !== 'course') return `#${part}`;
  if (attempt === null) return '#';
  if (step === null) return `#${attempt}`;
  const more = [tab, item && encodeURIComponent(item)].filter(Boolean).join('/');
  return `#${attempt}-${iteration}-${step}${more ? `/${more}` : ''}`;
}

/** The current position. */
export const place = signal(parsed(location.hash));

/** Change the position; the address is replaced, without a new history entry. */
export function go(parts) {
  place.value = {...place.peek(), ...parts};
  history.replaceState(null, '', written(place.peek()));
}

/** Open a step, or close it if it is open. */
export function toggle(step) {
  const {attempt, step: open} = place.peek();
  const isOpen = open === step.step_no && (attempt ?? step.attempt) === step.attempt;
  go({part: 'course', attempt: step.attempt, iteration: isOpen ? null : step.iteration,
    step: isOpen ? null : step.step_no, tab: '', item: ''});
}

addEventListener('hashchange', () => { place.value = parsed(location.hash); });
