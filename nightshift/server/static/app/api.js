// Speaks to the API. What the page came with is answered at once, without a request.

import {address, answers, go, here, page, parse} from './boot.js';
import {whenever} from './live.js';
import {signal, useEffect, useMemo, useRef} from './ui.js';

export {address, page};

/**
 * An answer of the API; `data.error` and `data.fields` tell of a failure.
 * @typedef {{ok: boolean, status: number, data: any}} Answered
 */

const AWAY = {ok: false, status: 0, data: {error: 'the daemon does not answer; is it running?', fields: {}}};

/** @returns {Promise<Answered>} a daemon that is gone is an answer too, with status 0 */
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
 * Read. The first `get` of an address that the page came with takes that answer.
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

/** Act: `post(path, body?)`. */
export const post = sending('POST');

/** Replace: `put(path, body)`. */
export const put = sending('PUT');

/** Change parts: `patch(path, body)`. */
export const patch = sending('PATCH');

/** One sentence for what went wrong with a request. */
export function fault(answer) {
  const {error = 'the request failed', fields = {}, more = 0} = answer.data ?? {};
  const named = Object.entries(fields).map(([name, why]) => `${name}: ${why}`);
  if (more) named.push(`and ${more} more`);
  return named.length ? named.join('; ') : error;
}

/**
 * What an address answers, kept in signals: `data` (null until there is some), `error` (null, or a sentence), `loading`.
 * @typedef {{data: any, error: string|null, loading: boolean, reload: () => Promise<void>, peek: () => any}} Source
 */

/**
 * A source outside of components, for what many of them share.
 * @param {string} path
 * @param {object} [query]
 * @returns {Source} reading `data`, `error` or `loading` in a component renders it anew when they change
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
    /** Lay in an answer that was got in another way. */
    keep: (value) => { data.value = value; },
    reload,
    first,
  };
}

/**
 * A source in a component: asked for when it appears and when its address changes.
 * @param {string|null} path null asks nothing
 * @param {object} [query]
 * @param {string[]|null|undefined} [kinds] ask again after events of these kinds (null: of any)
 * @returns {Source}
 */
export function useData(path, query = {}, kinds = undefined) {
  const whole = path === null ? null : address(path, query);
  const last = useRef(null);
  const found = useMemo(() => {
    if (whole === null) return EMPTY;
    const made = source(whole);
    // What was shown stays until its successor has come, so that a changed filter makes nothing jump.
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
