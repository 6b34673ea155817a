// The lines that the log page shows: a span of the log without gaps, which can grow at both ends.
//
// While the span is `live`, it ends at the end of the log. A line of the stream is appended at once if it directly
// follows the span. If it does not, or if a text filter is set, the page requests all lines after the span instead. No
// line is therefore missing or shown twice, in whatever order lines of the stream, pages of the API and clicks arrive.

import {fault, get} from '../../app/api.js';
import {after} from '../../app/boot.js';
import {gap, gently, onLine, onResync} from '../../app/live.js';
import {counted, elapsed} from '../../app/text.js';
import {signal} from '../../app/ui.js';
import {passes, query} from './filter.js';

const FIRST = 250; // lines that the page includes (server/pages/page_table.py)
const PAGE = 500;
const AROUND = 250;
const TOO_MANY = 2000;
const FLUSH_MS = 40;
const AHEAD_PX = 2000;

/** The span of lines that is shown, and the actions that change it. */
export class LogModel {
  constructor() {
    this.view = null;
    this.turn = 0;
    this.first = this.last = this.middle = 0;
    this.newest = after ?? 0;
    this.waiting = [];
    this.busy = {older: false, newer: false};
    /** True if the span ends at the end of the log. */
    this.live = signal(true);
    this.paused = signal(false);
    /** True if the view scrolls to the end when lines arrive. */
    this.following = signal(true);
    /** Number of lines that arrived and that the user has not seen. */
    this.unseen = signal(0);
    /** The lowest id that the search for earlier lines has examined. It is 1 if the start of the log was reached. */
    this.start = signal(1);
    this.loading = signal(true);
    this.error = signal(null);
    this.count = signal(0);
    this.soon = gently(() => this.catchUp(), 100);
    onLine((line) => this.heard(line));
    onResync(() => {
      this.newest = 0; // ids restarted, or lines were removed
      this.open();
    });
    this.heardOfGap();
  }

  /** Show the end of the log, or the lines around a given line or time. @returns {Promise<boolean>} true on success */
  async open(place = {}) {
    const turn = ++this.turn;
    this.loading.value = true;
    const pages = await this.pagesOf(place);
    if (turn !== this.turn) return false;
    this.loading.value = false;
    const failed = pages.find((each) => !each.ok);
    this.error.value = failed ? fault(failed) : null;
    if (failed) return false;
    this.show(pages.map((each) => each.data), !place.line && !place.at);
    return true;
  }

  async pagesOf({line, at}) {
    if (!line && !at) return [await this.ask({limit: FIRST})];
    const newer = await this.ask(line ? {after: line - 1, limit: AROUND} : {at, limit: AROUND});
    return newer.ok ? [await this.ask({before: newer.data.first_id, limit: AROUND}), newer] : [newer];
  }

  ask(more) { return get('/api/logs', {...query(), ...more}); }

  show(pages, isEnd) {
    this.waiting = [];
    this.view.clear();
    this.view.append(pages.flatMap((page) => page.events));
    this.first = this.start.value = pages[0].first_id;
    this.last = pages.at(-1).last_id;
    this.middle = pages.at(-1).first_id;
    this.newest = Math.max(this.newest, this.last);
    this.live.value = isEnd || this.last >= this.newest;
    this.following.value = isEnd;
    this.unseen.value = 0;
    this.counted();
    if (isEnd) this.view.toEnd();
    this.soon();
    this.reach();
  }

  counted() {
    this.count.value = [...this.view.sections].reduce((sum, each) => sum + each.childElementCount, 0);
  }

  // Methods for the end of the span

  heard(line) {
    this.newest = Math.max(this.newest, line.id);
    if (!passes(line)) {
      if (this.isNext(line)) this.last = line.id;
      return;
    }
    if (this.paused.peek() || !this.live.peek()) {
      this.unseen.value += 1;
    } else if (this.isNext(line)) {
      if (!this.waiting.length) setTimeout(() => this.flush(), FLUSH_MS);
      this.waiting.push(line);
      this.last = line.id;
    } else {
      this.soon();
    }
  }

  /** Check whether a line of the stream directly follows the span, so that it can be appended. */
  isNext(line) {
    return this.live.peek() && !this.paused.peek() && !this.loading.peek() && !this.busy.newer && !query().q
      && line.id === this.last + 1;
  }

  flush() {
    const lines = this.waiting;
    this.waiting = [];
    if (lines.length) this.lay(lines);
  }

  lay(lines) {
    const first = this.view.append(lines);
    if (first !== null) this.first = this.start.value = first;
    if (this.following.peek()) this.view.toEnd();
    else this.unseen.value += lines.length;
    this.counted();
  }

  /** While the span is live, request the lines after it, page by page, until the end of the log is reached. */
  async catchUp() {
    while (this.live.peek() && !this.paused.peek() && !this.loading.peek() && this.last < this.newest) {
      if (!await this.newer()) return;
    }
  }

  /** Append the next page of lines to the span. @returns {Promise<boolean>} true on success */
  async newer() {
    if (this.busy.newer) return false;
    this.busy.newer = true;
    const turn = this.turn;
    this.flush();
    const answer = await this.ask({after: this.last, limit: PAGE});
    this.busy.newer = false;
    if (turn !== this.turn) return false;
    if (!answer.ok) return false;
    this.last = answer.data.last_id;
    if (answer.data.events.length) this.lay(answer.data.events);
    if (this.last >= this.newest) this.live.value = true;
    else if (!this.live.peek()) this.reach();
    return true;
  }

  // Methods for the start of the span

  /** Insert the previous page of lines before the span. */
  async older() {
    if (this.busy.older || this.loading.peek() || this.first <= 1) return;
    this.busy.older = true;
    const turn = this.turn;
    const answer = await this.ask({before: this.first, limit: 2 * PAGE});
    this.busy.older = false;
    if (turn !== this.turn || !answer.ok) return;
    const last = this.view.prepend(answer.data.events);
    this.first = this.start.value = answer.data.first_id;
    if (last !== null) {
      this.flush();
      this.last = last;
      this.live.value = this.following.value = false;
    }
    this.counted();
    this.reach();
  }

  /** Load further lines if the user has scrolled close to either end of the span. */
  reach() {
    const {above, below} = this.view;
    if (above < AHEAD_PX) this.older();
    if (below < AHEAD_PX && !this.live.peek() && !this.paused.peek()) this.newer();
  }

  // Actions of the owner

  pause(isPaused = !this.paused.peek()) {
    this.paused.value = isPaused;
    if (!isPaused) this.goOn();
  }

  /** End the pause: show all lines that arrived meanwhile, or only the end of the log if they are too many. */
  async goOn() {
    this.paused.value = false;
    if (!this.live.peek() || this.newest - this.last > TOO_MANY) await this.open();
    else await this.catchUp();
    this.follow();
  }

  follow(isFollowing = true) {
    this.following.value = isFollowing;
    if (!isFollowing) return;
    if (!this.live.peek()) this.open();
    if (!this.paused.peek()) this.unseen.value = 0;
    this.view.toEnd();
  }

  heardOfGap() {
    let seen = gap.peek();
    gap.subscribe((value) => {
      if (!value || value === seen) return;
      seen = value;
      // Repeat the request if it failed while the connection was lost.
      if (this.error.peek()) this.open();
      else this.soon();
      setTimeout(() => this.view?.note(
        `The connection was lost for ${elapsed(value.awayS)}; ${counted(value.lines, 'line')} arrived meanwhile; none is missing.`,
      ), 2 * FLUSH_MS);
    });
  }
}
