// Data embedded in the page: answers of the API, the id of the newest event, and the parameters of the page's address.

import {printable} from './text.js';

// Matches JSON that may contain a character which must be shown as an escape. Most answers contain none, and are then
// parsed without `cleaned`, which is slow.
const SUSPECT = /\\u00[01]|\\u007f|\\u00[89]|\\u20|\\ufeff|\\r|[\u007f-\u009f\u00ad\u0600-\u0605\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ue000-\uf8ff\ufeff\ufff0-\ufffb]|\\[bf]/i;

function cleaned(_, value) {
  if (typeof value === 'string') return printable(value);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const pairs = Object.entries(value);
  if (pairs.every(([name]) => printable(name) === name)) return value;
  return Object.fromEntries(pairs.map(([name, each]) => [printable(name), each]));
}

/** Parse JSON from the API. Its texts are untrusted: control and direction characters become visible escapes. */
export const parse = (text) => (SUSPECT.test(text) ? JSON.parse(text, cleaned) : JSON.parse(text));

/** Join `path` and `query` into an address with parameters sorted by name; empty parameters are left out. */
export function address(path, query = {}) {
  const [bare, given = ''] = path.split('?');
  const pairs = [...new URLSearchParams(given), ...Object.entries(query).flatMap(([name, value]) => (
    Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]))];
  const kept = pairs.filter(([, value]) => value !== '' && value !== null && value !== undefined);
  kept.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
  return kept.length ? `${bare}?${new URLSearchParams(kept)}` : bare;
}

/** The path of the first page: `/`, or the sub-path below which a proxy serves the pages. */
export const root = new URL(document.documentElement.dataset.root ?? './', location.href).pathname;

/** Convert an address relative to the first page (`/task/5`) to the path that the browser must request. */
export const here = (path) => (path?.startsWith?.('/') ? root + path.slice(1) : path);

/** Open a page of the dashboard: `go('/task/5')`. */
export const go = (path) => location.assign(here(path));

const given = document.getElementById('boot');
const read = given ? parse(given.textContent) : {after: null, page: {name: '', where: {}}, answers: {}};

/** Embedded answers by address. `api.js` removes each answer when it is used. */
export const answers = new Map(Object.entries(read.answers).map(([path, data]) => [address(path), data]));

/** Id of the newest event when the page was built. Later events come over the live stream. */
export const after = read.after;

/** The page's name (`name`) and the parameters of its address (`where`), such as `task_id`. */
export const page = read.page;
