// The lines of the log in the document, in sections of 250 lines. The browser does not lay out sections that are not
// visible.
//
// All lines are in the document, so the browser's own search finds them. If lines are inserted above, the first visible
// row is kept in its position, so that the lines being read do not move. A browser keeps the layout of every section
// that was ever visible, which takes two gigabytes for a hundred thousand lines. The layout of sections that were
// visible long ago is therefore discarded.

import {el, row} from '../../app/logline.js';

const SECTION = 250;
const MOST_SECTIONS = 400;
const LAID_OUT = 40;
const ROW_PX = 21;
const NEAR_PX = 30;

/** The scrolling view of the log's lines. */
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

  /** Return the row of a line. @returns {HTMLElement|null} */
  rowOf(id) { return document.getElementById(`L${id}`); }

  clear() { this.box.replaceChildren(); }

  /** Scroll to the end. The last section is always laid out (app/parts.css), so its height is known. */
  toEnd() { this.box.scrollTop = this.box.scrollHeight; }

  /**
   * Scroll a row to the middle. This is repeated, because sections that become visible may be higher than estimated.
   * @returns {boolean} true if the row exists
   */
  toRow(id, tries = 4) {
    const found = this.rowOf(id);
    if (!found) return false;
    found.scrollIntoView({block: 'center'});
    if (tries) requestAnimationFrame(() => this.toRow(id, tries - 1));
    return true;
  }

  /**
   * Append lines at the end. If there are too many sections, the first ones are removed. @returns {number|null} the
   * first id that is left, null if nothing was removed
   */
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

  /**
   * Insert lines at the start. If there are too many sections, the last ones are removed. @returns {number|null} the
   * last id that is left, null if nothing was removed
   */
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

  /** Apply a change above the visible rows, and keep the first visible row in its position. */
  held(change) {
    const anchor = this.firstInSight();
    const before = anchor?.getBoundingClientRect().top;
    // Switch off the browser's own scroll anchoring. It does not work at the very top, and elsewhere would correct the
    // position a second time.
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

  /**
   * Handle a section that became visible or hidden. The set `laidOut` holds the sections whose layout the browser
   * keeps, in the order in which they last became visible.
   */
  changed({target, skipped}) {
    if (skipped) return;
    this.laidOut.delete(target);
    this.laidOut.add(target);
    if (this.laidOut.size <= LAID_OUT) return;
    const left = [...this.laidOut].slice(0, LAID_OUT / 2);
    left.forEach((each) => this.laidOut.delete(each));
    setTimeout(() => this.release(left.filter((each) => each.isConnected)));
  }

  /** Discard the layout of sections. The only way to do so is to hide them for a moment, which is never painted. */
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

  /** Add a note after the last line. */
  note(text) {
    const last = this.box.lastElementChild;
    if (!last) return;
    const made = el('li', 'note', text);
    last.append(made);
  }
}

/** Return the id of the line in a row. For a note, return the id of the line before the note. */
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
