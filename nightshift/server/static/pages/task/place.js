// The position on a task's page. It is the fragment of the page's address, so that a step, a test or a file can be
// shared as a link.

import {signal} from '../../app/ui.js';

/** Names of the parts of the page other than the course, as they occur in the fragment. */
export const PARTS = ['change', 'lessons', 'asked', 'log'];

/**
 * A position. `part` is the part of the page that is shown. The other fields are for the course: `attempt` is the
 * attempt that is shown (null: the newest), `iteration` and `step` give the step that is open, `tab` is the tab of this
 * step, and `item` is a test or a file in this tab.
 * @typedef {{part: string, attempt: number|null, iteration: number|null, step: number|null, tab: string, item: string}}
 * Place
 */

const NOWHERE = {part: 'course', attempt: null, iteration: null, step: null, tab: '', item: ''};
const COURSE = /^(\d+)(?:-(\d+)-(\d+))?$/;

/** Parse a URL fragment, such as `#change`, `#2` or `#2-3-14/tests/test_a.py::test_b`. @returns {Place} */
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

/** Return the URL fragment of a position. */
export function written({part, attempt, iteration, step, tab, item}) {
  if (part !== 'course') return `#${part}`;
  if (attempt === null) return '#';
  if (step === null) return `#${attempt}`;
  const more = [tab, item && encodeURIComponent(item)].filter(Boolean).join('/');
  return `#${attempt}-${iteration}-${step}${more ? `/${more}` : ''}`;
}

/** The position that is shown now. */
export const place = signal(parsed(location.hash));

/** Change the position and the page's address. The history of the browser gets no new entry. */
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
