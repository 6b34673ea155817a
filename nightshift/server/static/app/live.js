// The live stream of the log. All tabs of a browser share one connection to it, because a browser opens at most six
// connections to one address.
//
// One tab is the leader. It is the tab that holds a Web Lock. Locks need https; without https, a shared worker chooses
// the leader. The leader listens to the stream and forwards each line to the other tabs over a BroadcastChannel. When
// the leader closes, another tab becomes the leader. Each tab remembers the id of the last line that it saw. A tab that
// joins sends this id to the leader. The leader sends the missed lines from its ring buffer, or tells the tab to reload
// all data. A new leader resumes the stream after its own last line. No line is therefore lost or seen twice, whichever
// tab leads. The live text of models is forwarded in the same way, but it is neither buffered nor resumed
// (`live_text.js`).

import {after, here, parse, root} from './boot.js';
import {forget, frames, write} from './live_text.js';
import {signal} from './ui.js';

const NAME = `nightshift-live ${root}`; // another daemon may use another path
const STREAM = here('/api/logs/stream?live=true');
const RING = 1000;
const RETRY_MS = 2000;
const LOOK_MS = 5_000;
const SILENCE_MS = 40_000; // the server sends a beat every 15 s

/** State of the connection: `connecting`, `live` or `reconnecting`. */
export const connection = signal('connecting');

/**
 * The last interruption of the connection, as `{awayS, lines}`: its length in seconds and the number of missed lines.
 * Null if there was none.
 */
export const gap = signal(null);

const lineWatchers = new Set();
const resyncWatchers = new Set();
const ring = [];
const me = Math.random().toString(36).slice(2);
let cursor = after;
let floor = after; // the ring holds all lines with greater ids
let channel = null;
let feed = null;
let isLeader = false;
let joined = false;
let held = [];
let lostAt = null;
let heardAt = Date.now();
let mending = null;
let release = () => {};
let workers;

/** Call `fn` with each line from now on. @returns {() => void} a function that stops the calls */
export function onLine(fn) {
  lineWatchers.add(fn);
  return () => lineWatchers.delete(fn);
}

/**
 * Call `fn` whenever all data must be reloaded because the stream cannot resume.
 * @returns {() => void} a function that stops the calls
 */
export function onResync(fn) {
  resyncWatchers.add(fn);
  return () => resyncWatchers.delete(fn);
}

const tell = (message) => channel?.postMessage(message);

function deliver(line) {
  if (cursor !== null && line.id <= cursor) return;
  cursor = line.id;
  ring.push(line);
  if (ring.length > RING) floor = ring.shift().id;
  lineWatchers.forEach((fn) => fn(line));
}

function resync(id) {
  cursor = floor = id;
  ring.length = 0;
  resyncWatchers.forEach((fn) => fn());
}

function show(state) {
  connection.value = state;
  if (isLeader) tell({kind: 'state', state});
}

// The following functions run in the leading tab.

function lead() {
  isLeader = joined = true;
  held = [];
  listen();
  tell({kind: 'lead', cursor});
}

function listen() {
  heardAt = Date.now();
  feed = new EventSource(cursor === null ? STREAM : `${STREAM}&after=${cursor}`);
  feed.onopen = opened;
  feed.onerror = lost;
  feed.onmessage = (event) => received(parse(event.data));
  feed.addEventListener('beat', () => { heardAt = Date.now(); });
  feed.addEventListener('writing', (event) => written(parse(event.data)));
  feed.addEventListener('resync', (event) => {
    const id = Number(event.lastEventId);
    mending = null;
    resync(id);
    tell({kind: 'resync', id});
  });
}

function received(line) {
  heardAt = Date.now();
  tell({kind: 'line', line});
  deliver(line);
  if (mending) {
    mending.ids.push(line.id);
    mended();
  }
}

function written(frame) {
  heardAt = Date.now();
  tell({kind: 'writing', frame});
  write(frame);
}

/**
 * Reconnect if nothing was received for too long. After a sleep of the computer or a network failure, the stream may be
 * dead without an error.
 */
function look() {
  if (!feed || feed.readyState !== EventSource.OPEN || Date.now() - heardAt < SILENCE_MS) return;
  feed.close();
  lostAt = heardAt;
  show('reconnecting');
  listen();
}

function lost() {
  lostAt ??= Date.now();
  show('reconnecting');
  // The browser stops retrying if the response is not a stream, for example while the server is starting.
  if (feed.readyState === EventSource.CLOSED) setTimeout(() => isLeader && listen(), RETRY_MS);
}

async function opened() {
  heardAt = Date.now();
  forget();
  tell({kind: 'forget'});
  show('live');
  if (lostAt === null) return;
  const away = mending = {awayS: (Date.now() - lostAt) / 1000, ids: [], newest: null};
  lostAt = null;
  const newest = await newestId();
  if (mending !== away) return;
  away.newest = newest;
  mended();
}

/** Return the id of the newest event. Lines up to this id were missed while the connection was lost. */
async function newestId() {
  try {
    return parse(await (await fetch(here('/api/logs?limit=1'))).text()).last_id ?? 0;
  } catch {
    return 0;
  }
}

function mended() {
  if (mending.newest === null || (cursor ?? 0) < mending.newest) return;
  const {awayS, ids, newest} = mending;
  mending = null;
  gap.value = {awayS, lines: ids.filter((id) => id <= newest).length};
  tell({kind: 'gap', gap: gap.value});
}

// The following functions run in the tabs that follow the leader.

const HEARD = {
  line: ({line}) => (joined ? deliver(line) : held.push(line)),
  state: ({state}) => { connection.value = state; },
  writing: ({frame}) => write(frame),
  forget,
  gap: (message) => { gap.value = message.gap; },
  resync: ({id}) => resync(id),
  lead: (message) => {
    if (!joined || (message.cursor ?? 0) > (cursor ?? 0)) hello();
  },
  hello: (message) => isLeader && welcome(message),
  welcome: (message) => message.to === me && enter(message),
};

function hello() {
  joined = false;
  tell({kind: 'hello', from: me, cursor});
}

function welcome({from, cursor: theirs}) {
  const reaches = theirs >= floor;
  const lines = reaches ? ring.filter((line) => line.id > theirs) : [];
  tell({kind: 'welcome', to: from, lines, missed: !reaches, cursor, state: connection.value, writing: frames()});
}

function enter(message) {
  joined = true;
  connection.value = message.state;
  if (message.missed) resync(message.cursor);
  [...message.lines, ...held].forEach(deliver);
  held = [];
  message.writing.forEach(write);
}

// The following functions join the channel that all tabs share, take part in choosing the leader, and leave again.

function join() {
  channel = new BroadcastChannel(NAME);
  channel.onmessage = ({data}) => HEARD[data.kind]?.(data);
  if ('locks' in navigator) lock();
  else queue();
  hello();
}

function lock() {
  navigator.locks.request(NAME, () => {
    lead();
    return new Promise((done) => { release = done; });
  });
}

function queue() {
  const {port} = new SharedWorker(turns(), NAME);
  port.onmessage = lead;
  release = () => port.postMessage('leave');
}

/**
 * Return the address of the shared worker in the form that the page's Content Security Policy requires. The Trusted
 * Types policy returns only this one address.
 */
function turns() {
  const url = new URL('./turns.js', import.meta.url).href;
  workers ??= window.trustedTypes?.createPolicy('nightshift-turns', {createScriptURL: () => url});
  return workers ? workers.createScriptURL(url) : url;
}

function leave() {
  feed?.close();
  channel?.close();
  channel = feed = null;
  isLeader = false;
  release();
}

/** Start to receive the stream. The shell calls this once. */
export function startLive() {
  const shares = 'BroadcastChannel' in window && ('locks' in navigator || 'SharedWorker' in window);
  const begin = shares ? join : lead;
  begin();
  setInterval(look, LOOK_MS);
  document.addEventListener('visibilitychange', look);
  addEventListener('pagehide', leave);
  // A page restored from the browser's back/forward cache has missed events and must reload its data.
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    begin();
    resyncWatchers.forEach((fn) => fn());
  });
}

// The following functions repeat requests after events.

/**
 * Return a function that schedules a call of `work`. If it is called several times in quick succession, `work` is
 * called once. Two calls of `work` never overlap. In a hidden tab, at least five seconds pass between two calls of
 * `work`.
 * @param {() => Promise<void>} work
 * @param {number} [pauseMs] minimum milliseconds between two calls of `work` in a visible tab
 */
export function gently(work, pauseMs = 300) {
  let due = false;
  let busy = false;
  const run = async () => {
    while (due) {
      due = false;
      await work();
      await new Promise((done) => setTimeout(done, document.hidden ? 5000 : pauseMs));
    }
    busy = false;
  };
  return () => {
    due = true;
    if (busy) return;
    busy = true;
    setTimeout(run, 30);
  };
}

/**
 * Call `work`, throttled by `gently`, in three cases: after an event that `kinds` selects, after the stream could not
 * resume, and when a lost connection is back.
 * @param {string[]|null|((line: object) => boolean)} kinds the kinds of events (null: all kinds), or a function that
 * selects events
 * @param {() => Promise<void>} work
 * @returns {() => void} a function that stops these calls
 */
export function whenever(kinds, work, pauseMs = 300) {
  const soon = gently(work, pauseMs);
  const fits = typeof kinds === 'function' ? kinds : (line) => kinds === null || kinds.includes(line.event);
  const seen = gap.peek();
  const ends = [
    onLine((line) => fits(line) && soon()),
    onResync(soon),
    gap.subscribe((value) => value !== seen && soon()),
  ];
  return () => ends.forEach((end) => end());
}
