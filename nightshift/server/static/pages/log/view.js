// The lines in the document: sections of 250 lines, which the browser does not lay out while they are out of sight.
//
// All lines are in the document, so the browser's own search finds them. Lines inserted above must not move the lines
// being read: the first visible row is kept in its position. A browser keeps the layout of every section that was ever
// visible, which takes two gigabytes for a hundred thousand lines; so the layout of sections that were left long ago is
// discarded.

import {el, row} from '../../app/logline.js';

const SECTION = 250;
const MOST_SECTIONS = 400;
const LAID_OUT = 40;
const ROW_PX = 21;
const NEAR_PX = 30;

/** The scrolling view of the log. */
export class LogView {
  /** @param {HTMLElement} box the scroll container, which contains only sections */
  constructor(box) {
    this.box = box;
    this.most = MOST_SECTIONS;
    this.laidOut = new Set();
    box.addEventListener('contentvisibilityautostatechange', (event) => this.changed(event), true);
  }

  get sections() { return this.box.children; }

  get isEmpty() { return this.box.childElementCount === 0; }

  /** Height of the content above the visible part, in pixels. */
  get above() { return this.box.scrollTop; }

  get below() { return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight; }

  get isAtEnd() { return this.below < NEAR_PX; }

  /** @returns {HTMLElement|null} the row of a line */
  rowOf(id) { return document.getElementById(`L${id}`); }

  clear() { this.box.replaceChildren(); }

  /** Scroll to the end: the last section is always laid out (app/parts.css), so its height is known. */
  toEnd() { this.box.scrollTop = this.box.scrollHeight; }

  /**
   * Scroll a row to the middle; repeated, because sections that become visible may be higher than estimated. @returns
   * {boolean} true if the row exists
   */
  toRow(id, tries = 4) {
    const found = this.rowOf(id);
    if (!found) return false;
    found.scrollIntoView({block: 'center'});
    if (tries) requestAnimationFrame(() => this.toRow(id, tries - 1));
    return true;
  }

  /** Append lines at the end. @returns {number|null} the first id that is left, if other lines had to be removed */
  append(lines) {
    let at = 0;
    while (at < lines.length) {
      let last = this.box.lastElementChild;
      if (!last || last.childElementCount >= SECTION) this.box.append(last = section());
      const room = SECTION - last.childElementCount;
      last.append(...lines.slice(at, at + room).map((line) => row(line)));
      sized(last);
      at += room;
    }
    return this.trim(() => this.box.firstElementChild);
  }

  /** Insert lines at the start. @returns {number|null} the last id that is left, if other lines had to be removed */
  prepend(lines) {
    const made = [];
    for (let end = lines.length; end > 0; end -= SECTION) {
      const one = section();
      one.append(...lines.slice(Math.max(0, end - SECTION), end).map((line) => row(line)));
      made.unshift(sized(one));
    }
    this.held(() => this.box.prepend(...made));
    return this.trim(() => this.box.lastElementChild);
  }

  /** Apply a change of heights above, and keep the first visible row in its position. */
  held(change) {
    const anchor = this.firstInSight();
    const before = anchor?.getBoundingClientRect().top;
    // Switch off the browser's own scroll anchoring: it does not work at the very top, and would correct a second time.
    this.box.style.overflowAnchor = 'none';
    change();
    if (anchor) this.box.scrollTop += anchor.getBoundingClientRect().top - before;
    requestAnimationFrame(() => { this.box.style.overflowAnchor = ''; });
  }

  firstInSight() {
    const top = this.box.getBoundingClientRect().top;
    const shown = [...this.sections].find((each) => each.getBoundingClientRect().bottom > top);
    return shown && ([...shown.children].find((each) => each.getBoundingClientRect().bottom > top) ?? null);
  }

  /** Handle a section that became visible or hidden; `laidOut` keeps the newest last. */
  changed({target, skipped}) {
    if (skipped) return;
    this.laidOut.delete(target);
    this.laidOut.add(target);
    if (this.laidOut.size <= LAID_OUT) return;
    const left = [...this.laidOut].slice(0, LAID_OUT / 2);
    left.forEach((each) => this.laidOut.delete(each));
    setTimeout(() => this.release(left.filter((each) => each.isConnected)));
  }

  /** Discard the layout of sections by hiding them for a moment, the only way to do so. Nothing of this is painted. */
  release(sections) {
    const top = this.box.scrollTop;
    this.box.style.overflowAnchor = 'none';
    for (const each of sections) each.style.containIntrinsicSize = `auto ${each.offsetHeight}px`;
    for (const each of sections) each.style.display = 'none';
    this.box.getBoundingClientRect();
    for (const each of sections) each.style.display = '';
    this.box.scrollTop = top;
    requestAnimationFrame(() => { this.box.style.overflowAnchor = ''; });
  }

  trim(edge) {
    let gone = 0;
    for (; this.sections.length > this.most; gone += 1) {
      const victim = edge();
      if (victim === this.box.firstElementChild) this.held(() => victim.remove());
      else victim.remove();
    }
    if (!gone) return null;
    const kept = edge();
    return idOf(kept === this.box.firstElementChild ? kept.firstElementChild : kept.lastElementChild);
  }

  /** Add a note between the lines. */
  note(text) {
    const last = this.box.lastElementChild;
    if (!last) return;
    const made = el('li', 'note', text);
    last.append(made);
  }
}

/** Return the id of the line in a row; for a note, that of the line before it. */
export function idOf(made) {
  let one = made;
  while (one && !one.id) one = one.previousElementSibling;
  return one ? Number(one.id.slice(1)) : null;
}

function section() {
  return el('ol', 'section');
}

function sized(made) {
  made.style.containIntrinsicSize = `auto ${made.childElementCount * ROW_PX}px`;
  return made;
}
