// The lines as they stand on the page: sections of 250, which the browser need not lay out while they are out of sight.
//
// All lines are in the document, so the browser's own search finds them. What is laid in above must not move what is
// being read: the first row in sight is held where it is. A browser keeps the layout of what was once in sight, which for
// a hundred thousand lines is two gigabytes; so the layout of sections that were left long ago is thrown away.

import {el, row} from '../../app/logline.js';

const SECTION = 250;
const MOST_SECTIONS = 400;
const LAID_OUT = 40;
const ROW_PX = 21;
const NEAR_PX = 30;

/** The window onto the log. */
export class LogView {
  /** @param {HTMLElement} box scrolls, and holds the sections alone */
  constructor(box) {
    this.box = box;
    this.most = MOST_SECTIONS;
    this.laidOut = new Set();
    box.addEventListener('contentvisibilityautostatechange', (event) => this.changed(event), true);
  }

  get sections() { return this.box.children; }

  get isEmpty() { return this.box.childElementCount === 0; }

  /** How far the sections reach beyond what is in sight, in pixels. */
  get above() { return this.box.scrollTop; }

  get below() { return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight; }

  get isAtEnd() { return this.below < NEAR_PX; }

  /** @returns {HTMLElement|null} the row of a line */
  rowOf(id) { return document.getElementById(`L${id}`); }

  clear() { this.box.replaceChildren(); }

  /** Scroll to the end: its section is always laid out (app/parts.css), so its height is known. */
  toEnd() { this.box.scrollTop = this.box.scrollHeight; }

  /** Bring a row into the middle; again when sections that came into sight are higher than they were taken for. @returns {boolean} whether it is there */
  toRow(id, tries = 4) {
    const found = this.rowOf(id);
    if (!found) return false;
    found.scrollIntoView({block: 'center'});
    if (tries) requestAnimationFrame(() => this.toRow(id, tries - 1));
    return true;
  }

  /** Lay in lines at the end. @returns {number|null} the first id that is still there, where others had to go */
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

  /** Lay in lines at the start. @returns {number|null} the last id that is still there, where others had to go */
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

  /** Do what changes heights above, and keep the row that is read where it is. */
  held(change) {
    const anchor = this.firstInSight();
    const before = anchor?.getBoundingClientRect().top;
    // The browser's own anchoring does not work at the very top, and must not do its part a second time.
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

  /** A section came into sight, or went; the newest stand last. */
  changed({target, skipped}) {
    if (skipped) return;
    this.laidOut.delete(target);
    this.laidOut.add(target);
    if (this.laidOut.size <= LAID_OUT) return;
    const left = [...this.laidOut].slice(0, LAID_OUT / 2);
    left.forEach((each) => this.laidOut.delete(each));
    setTimeout(() => this.release(left.filter((each) => each.isConnected)));
  }

  /** Throw the layout of sections away: only what is not displayed at all loses it. Nothing of it is painted. */
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

  /** A remark between the lines. */
  note(text) {
    const last = this.box.lastElementChild;
    if (!last) return;
    const made = el('li', 'note', text);
    last.append(made);
  }
}

/** The id of the line in a row; of a remark, that of the line before it. */
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
