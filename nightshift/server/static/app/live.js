// The only EventSource of a browser: its tabs share it, because a browser opens at most six connections to one address.
//
// One tab is the leader: the one that holds a Web Lock, or without https, which locks need, the one whose turn it is in
// a shared worker. The leader listens and forwards each line over a BroadcastChannel; the other tabs follow. When the
// leader closes, the next tab leads. Each tab remembers the id of the last line it saw. A tab that joins sends this id,
// and gets the missed lines from the leader's ring buffer, or is told to reload all data. A new leader resumes after
// its own last line. So no line is lost or seen twice, whichever tab leads. The live text of models takes the same way,
// but is neither remembered nor resumed (`live_text.js`).

import {after, here, parse, root} from './boot.js';
import {forget, frames, write} from './live_text.js';
import {signal} from './ui.js';

const NAME = `nightshift-live ${root}`; // another daemon may use another path
const STREAM = here('/api/logs/stream?live=true');
const RING = 1000;
const RETRY_MS = 2000;
const LOOK_MS = 5_000;
const SILENCE_MS = 40_000; // the server sends a beat every 15 s

/** `connecting`, `live` or `reconnecting`. */
export const connection = signal('connecting');

/** The last time the connection came back: `{awayS, lines}`, or null. */
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

/** Call `fn` with each line from now on. @returns {() => void} unsubscribes it */
export function onLine(fn) {
  lineWatchers.add(fn);
  return () => lineWatchers.delete(fn);
}

/** Call `fn` when all data must be reloaded because the stream cannot resume. @returns {() => void} unsubscribes it */
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

// ---- leading

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
 * Reconnect if the stream was silent for too long: after a sleep or a network failure it may be dead without an error.
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
  // A browser stops retrying if the response is not a stream, for example while the server is starting.
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

/** Return the id of the newest event: events up to it happened while the connection was lost. */
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

// ---- following

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

// ---- coming and going

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
 * Return the worker's address in the form that the page's policy requires; the policy always returns this one address.
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

/** Start to listen; called once, by the shell. */
export function startLive() {
  const shares = 'BroadcastChannel' in window && ('locks' in navigator || 'SharedWorker' in window);
  const begin = shares ? join : lead;
  begin();
  setInterval(look, LOOK_MS);
  document.addEventListener('visibilitychange', look);
  addEventListener('pagehide', leave);
  // A page restored from the browser's back/forward cache has missed events.
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    begin();
    resyncWatchers.forEach((fn) => fn());
  });
}

// ---- repeating requests

/**
 * Return a function that calls `work` soon, once for many calls and never concurrently; less often in a hidden tab.
 * @param {() => Promise<void>} work
 * @param {number} [pauseMs] minimum milliseconds between two calls
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
 * Call `work`, throttled by `gently`, after each event of these kinds (null: of any kind), after a resync, and when the
 * connection is back.
 * @param {string[]|null|((line: object) => boolean)} kinds
 * @param {() => Promise<void>} work
 * @returns {() => void} unsubscribes it
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
