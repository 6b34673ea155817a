// Sends requests to the API. If an answer is embedded in the page, it is returned without a request.

import {address, answers, go, here, page, parse} from './boot.js';
import {whenever} from './live.js';
import {signal, useEffect, useMemo, useRef} from './ui.js';

export {address, page};

/**
 * A response of the API. If the request failed, `data.error` and `data.fields` say why.
 * @typedef {{ok: boolean, status: number, data: any}} Answered
 */

const AWAY = {ok: false, status: 0, data: {error: 'the daemon does not answer; is it running?', fields: {}}};

/** Send a request. @returns {Promise<Answered>} with status 0 if the daemon cannot be reached */
async function ask(path, options) {
  try {
    const response = await fetch(here(path), options);
    if (response.status === 401) go('/login');
    const data = parse(await response.text());
    return {ok: response.ok, status: response.status, data};
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return AWAY;
  }
}

/**
 * Send a GET request. The first request for an address whose answer is embedded in the page returns that answer.
 * @returns {Promise<Answered>}
 */
export async function get(path, query = {}, options = {}) {
  const whole = address(path, query);
  if (answers.has(whole)) {
    const data = answers.get(whole);
    answers.delete(whole);
    return {ok: true, status: 200, data};
  }
  return ask(whole, options);
}

const sending = (method) => (path, body) => ask(path, {
  method,
  headers: body === undefined ? {} : {'Content-Type': 'application/json'},
  body: body === undefined ? undefined : JSON.stringify(body),
});

/** Send a POST request: `post(path, body?)`. */
export const post = sending('POST');

/** Send a PUT request: `put(path, body)`. */
export const put = sending('PUT');

/** Send a PATCH request: `patch(path, body)`. */
export const patch = sending('PATCH');

/** Return a sentence that says why a request failed. */
export function fault(answer) {
  const {error = 'the request failed', fields = {}, more = 0} = answer.data ?? {};
  const named = Object.entries(fields).map(([name, why]) => `${name}: ${why}`);
  if (more) named.push(`and ${more} more`);
  return named.length ? named.join('; ') : error;
}

/**
 * The answer to a request as signals: `data` (null until the answer has arrived), `error` (null or a sentence) and
 * `loading`.
 * @typedef {{data: any, error: string|null, loading: boolean, reload: () => Promise<void>, peek: () => any}} Source
 */

/**
 * Create a source outside of components, for data that many components share.
 * @param {string} path
 * @param {object} [query]
 * @returns {Source} a component that reads `data`, `error` or `loading` is rendered again when that value changes
 */
export function source(path, query = {}) {
  const whole = address(path, query);
  const early = answers.get(whole) ?? null;
  const data = signal(early);
  const error = signal(null);
  const loading = signal(early === null);
  let newest = 0;
  const reload = async () => {
    const turn = ++newest;
    loading.value = true;
    const answer = await get(whole);
    if (turn !== newest) return;
    loading.value = false;
    error.value = answer.ok ? null : fault(answer);
    if (answer.ok) data.value = answer.data;
  };
  const first = () => {
    if (early === null) return reload();
    answers.delete(whole);
    return Promise.resolve();
  };
  return {
    get data() { return data.value; },
    get error() { return error.value; },
    get loading() { return loading.value; },
    peek: () => data.peek(),
    /** Store an answer that did not come from a request of this source. */
    keep: (value) => { data.value = value; },
    reload,
    first,
  };
}

/**
 * Use a source in a component. The request is sent when the component appears and when the address changes.
 * @param {string|null} path null sends no request
 * @param {object} [query]
 * @param {string[]|null|undefined} [kinds] kinds of events after which the request is repeated (null: all kinds)
 * @returns {Source}
 */
export function useData(path, query = {}, kinds = undefined) {
  const whole = path === null ? null : address(path, query);
  const last = useRef(null);
  const found = useMemo(() => {
    if (whole === null) return EMPTY;
    const made = source(whole);
    // Show the old data until the new data has arrived, so that the page does not jump when a filter changes.
    if (made.peek() === null && last.current && last.current.path === bare(whole)) made.keep(last.current.found.peek());
    last.current = {path: bare(whole), found: made};
    return made;
  }, [whole]);
  useEffect(() => {
    if (whole === null) return undefined;
    found.first();
    return kinds === undefined ? undefined : whenever(kinds, found.reload);
  }, [found]);
  return found;
}

const bare = (whole) => whole.split('?')[0];
const EMPTY = {data: null, error: null, loading: false, reload: async () => {}, peek: () => null, keep: () => {}};
