// The one EventSource of a browser: its tabs share it, for a browser opens only six connections to one address.
//
// The tab that holds a Web Lock leads (without https, which locks need, the one whose turn it is in a shared worker): it
// listens, and passes each line on over a BroadcastChannel. The others follow, and the next one leads when it goes. Each
// tab remembers the id of the last line it saw. A tab that joins says it, and gets what it has missed from the leader's
// ring, or is told to read all anew; a new leader resumes behind its own. So no line is lost or seen twice, whoever
// leads. What models write just now goes the same way, but is neither remembered nor resumed (`live_text.js`).

import {after, here, parse, root} from './boot.js';
import {forget, frames, write} from './live_text.js';
import {signal} from './ui.js';

const NAME = `nightshift-live ${root}`; // another daemon may be below another path
const STREAM = here('/api/logs/stream?live=true');
const RING = 1000;
const RETRY_MS = 2000;
const LOOK_MS = 5_000;
const SILENCE_MS = 40_000; // the server beats each 15 s

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

/** Call `fn` with each line from now on. @returns {() => void} ends it */
export function onLine(fn) {
  lineWatchers.add(fn);
  return () => lineWatchers.delete(fn);
}

/** Call `fn` when what was shown must be read anew, because the stream cannot resume. @returns {() => void} ends it */
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

/** After a sleep, or behind a network that went away, a connection may be dead without a word. */
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
  // A browser gives up by itself where the answer is no stream, as from a server that is just starting.
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

/** The id of the newest event: all up to it happened while the connection was away. */
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

/** The address of the worker, as the pages' policy wants it: whatever is asked for, it is this one. */
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

/** Begin to listen; the shell does it once. */
export function startLive() {
  const shares = 'BroadcastChannel' in window && ('locks' in navigator || 'SharedWorker' in window);
  const begin = shares ? join : lead;
  begin();
  setInterval(look, LOOK_MS);
  document.addEventListener('visibilitychange', look);
  addEventListener('pagehide', leave);
  // A page that comes back from the browser's cache has missed what happened meanwhile.
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    begin();
    resyncWatchers.forEach((fn) => fn());
  });
}

// ---- asking again

/**
 * Call `work` soon, once for many calls and never twice at a time; less often in a hidden tab.
 * @param {() => Promise<void>} work
 * @param {number} [pauseMs] the least time between two
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
 * Do `work` gently after each event of these kinds (null: of any), after a resync, and when the connection is back.
 * @param {string[]|null|((line: object) => boolean)} kinds
 * @param {() => Promise<void>} work
 * @returns {() => void} ends it
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
