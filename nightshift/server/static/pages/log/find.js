// Search in the log without hiding other lines. Matches are highlighted, and the user moves from match to match. If no
// loaded line matches, the server searches the rest of the log.

import {get} from '../../app/api.js';
import {toast} from '../../app/toasts.js';
import {counted} from '../../app/text.js';
import {signal} from '../../app/ui.js';
import {query} from './filter.js';
import {idOf} from './view.js';

const MARK = 'found';
const MOST_ASKED = 50;

/** A search in the lines of the log. */
export class Finder {
  /** @param {import('./model.js').LogModel} model */
  constructor(model) {
    this.model = model;
    this.text = signal('');
    /** Number of loaded lines that match; null if nothing is searched for. */
    this.matches = signal(null);
  }

  get view() { return this.model.view; }

  get wanted() { return this.text.peek().toLowerCase(); }

  seek(text) {
    this.text.value = text;
    this.count();
    this.paint();
  }

  count() {
    if (!this.wanted) {
      this.matches.value = null;
      return;
    }
    const rows = [...this.view.sections].flatMap((each) => [...each.children]);
    this.matches.value = rows.filter((each) => this.fits(each)).length;
  }

  fits(row) { return Boolean(row?.id) && said(row).textContent.toLowerCase().includes(this.wanted); }

  /** Highlight all visible matches. The browser paints highlights without a change to the document. */
  paint() {
    if (!('highlights' in CSS)) return;
    const box = this.view.box.getBoundingClientRect();
    const isNear = (each) => {
      const {top, bottom} = each.getBoundingClientRect();
      return bottom > box.top && top < box.bottom;
    };
    const rows = this.wanted ? [...this.view.sections].filter(isNear).flatMap((each) => [...each.children]) : [];
    CSS.highlights.set(MARK, new Highlight(...rows.filter(isNear).flatMap((each) => ranges(each, this.wanted))));
  }

  /**
   * Find the next line that matches, downwards or upwards.
   * @param {number} step 1 for downwards, -1 for upwards
   * @param {number|null} from id of the line after which to start; null starts at the visible lines
   * @returns {Promise<number|null>} the id of the line; null if no line matches
   */
  async next(step, from) {
    if (!this.wanted) return null;
    const start = from === null ? null : this.view.rowOf(from);
    let one = start ? beside(start, step) : edge(this.view, step);
    while (one && !this.fits(one)) one = beside(one, step);
    return one ? idOf(one) : this.beyond(step);
  }

  async beyond(step) {
    const {q, ...rest} = query();
    if (q) return this.nothing(step, 'in the loaded lines that pass the filter');
    let {first, last} = this.model;
    for (let asked = 0; asked < MOST_ASKED; asked += 1) {
      if (step < 0 ? first <= 1 : last >= this.model.newest) break;
      const place = step < 0 ? {before: first} : {after: last};
      const answer = await get('/api/logs', {...rest, q: this.text.peek(), limit: 1, ...place});
      if (!answer.ok) break;
      ({first_id: first, last_id: last} = answer.data);
      if (answer.data.events.length) return answer.data.events[0].id;
    }
    return this.nothing(step, 'in the log');
  }

  nothing(step, where) {
    toast(`No further line ${step < 0 ? 'above' : 'below'} with “${this.text.peek()}” ${where}.`);
    return null;
  }
}

/** Return the text about the matches that is shown beside the search field. */
export const foundText = (matches, count) => (matches === null ? ''
  : `${matches} in ${counted(count, 'loaded line')}`);

/**
 * Return the element of a row that contains the message. It is found by its position, because a selector would take
 * seconds for a hundred thousand rows.
 */
function said(row) {
  const last = row.lastElementChild;
  return last.className === 'detail' ? last.previousElementSibling : last;
}

/** Return the row after a row (`step` 1) or before it (-1), also in the next section; null if there is none. */
export function beside(row, step) {
  const near = step > 0 ? row.nextElementSibling : row.previousElementSibling;
  if (near) return near;
  const section = step > 0 ? row.parentElement.nextElementSibling : row.parentElement.previousElementSibling;
  return section && (step > 0 ? section.firstElementChild : section.lastElementChild);
}

/**
 * Return the visible row at which a search without a start line begins: the first visible row when searching downwards,
 * the last visible row when searching upwards.
 */
function edge(view, step) {
  const first = view.firstInSight();
  if (step > 0 || !first) return first;
  const bottom = view.box.getBoundingClientRect().bottom;
  let one = first;
  for (let next = one; next && next.getBoundingClientRect().top < bottom; next = beside(next, 1)) one = next;
  return one;
}

/** Return the ranges of a row's message that match a text. A range may extend over several text nodes. */
function ranges(row, wanted) {
  if (!row.id) return [];
  const walker = document.createTreeWalker(said(row), NodeFilter.SHOW_TEXT);
  const pieces = [];
  let length = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    pieces.push({node, start: length});
    length += node.length;
  }
  const text = said(row).textContent.toLowerCase();
  const found = [];
  for (let at = text.indexOf(wanted); at >= 0 && text.length === length; at = text.indexOf(wanted, at + wanted.length)) {
    const range = new Range();
    range.setStart(...place(pieces, at, false));
    range.setEnd(...place(pieces, at + wanted.length, true));
    found.push(range);
  }
  return found;
}

function place(pieces, at, isEnd) {
  const {node, start} = pieces.findLast((each) => (isEnd ? each.start < at : each.start <= at)) ?? pieces[0];
  return [node, at - start];
}
