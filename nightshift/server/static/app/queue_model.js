// State of a list of tasks: its filter and order, and the rows that were read. Also reads and refreshes the rows.

import {fault, get} from './api.js';
import {address, answers} from './boot.js';
import {batch, signal} from './ui.js';

export const STATUSES = ['running', 'waiting', 'queued', 'scheduled', 'blocked', 'shared', 'failed', 'done', 'cancelled'];

const PAGE = 50;
const SLICE = 500; // maximum of one request to the API
export const PLAIN = {status: [], q: '', kind: '', repo: '', since: '', until: '', sort: 'id', order: 'desc'};

/**
 * Filter and order of a list. `since` and `until` limit the time when tasks ended; each is a time or `today`.
 * @typedef {{status: string[], q: string, kind: string, repo: string, since: string, until: string, sort: string,
 * order: string}} Wanted
 */

/** Read filter and order from the page's address. @returns {Wanted} */
function wantedOf(search) {
  const given = new URLSearchParams(search);
  const text = (name) => given.get(name) ?? PLAIN[name];
  const status = STATUSES.filter((each) => (given.get('status') ?? '').split(',').includes(each));
  return {...Object.fromEntries(Object.keys(PLAIN).map((name) => [name, text(name)])), status};
}

/**
 * Return filter and order as parameters for the API and for the page's address, without those that have default values.
 */
export function queryOf({status, ...rest}) {
  const pairs = Object.entries(rest).filter(([name, value]) => value && value !== PLAIN[name]);
  return {...Object.fromEntries(pairs), ...(status.length ? {status: status.join(',')} : {})};
}

/** Return the filter in the form that bulk actions accept. */
export const filterOf = ({status, q, ...rest}) => (
  {status, q, ...Object.fromEntries(['kind', 'repo', 'since', 'until'].filter((name) => rest[name]).map((name) => [name, rest[name]]))});

/** True if the filter has any condition, so that it may exclude tasks. */
export const isFiltered = (wanted) => Object.keys(queryOf({...wanted, sort: 'id', order: 'desc'})).length > 0;

const foundIn = ({tasks, counts, total, next}, before = []) => ({rows: [...before, ...tasks], counts, total, next});

/** A list of tasks, with its filter and order in the page's address. */
export function listOfTasks() {
  const wanted = signal(wantedOf(location.search));
  const first = address('/api/tasks', {...queryOf(wanted.peek()), limit: PAGE});
  const early = answers.get(first);
  const found = signal(early ? foundIn(early) : null); // {rows, counts, total, next}
  const error = signal(null);
  let many = PAGE;
  let turn = 0;

  /** Read the first `many` rows again, in as few requests as the API allows. */
  const slices = async (mine) => {
    let all = null;
    let cursor = '';
    do {
      const limit = Math.min(SLICE, many - (all?.rows.length ?? 0));
      const answer = await get('/api/tasks', {...queryOf(wanted.peek()), limit, cursor});
      if (mine !== turn) return null;
      if (!answer.ok) return fault(answer);
      all = foundIn(answer.data, all?.rows);
      cursor = all.next;
    } while (cursor && all.rows.length < many);
    return all;
  };
  const read = async () => {
    const mine = ++turn;
    const all = await slices(mine);
    if (mine !== turn) return;
    batch(() => {
      error.value = typeof all === 'string' ? all : null;
      if (typeof all !== 'string') found.value = all;
    });
  };
  return {
    wanted,
    found,
    error,
    reload: read,
    /** Read the rows for the first time, unless they are embedded in the page. */
    begin: () => (answers.delete(first) ? undefined : read()),
    /** Change the filter or the order, and read the rows again. */
    want: (changes) => {
      wanted.value = {...wanted.peek(), ...changes};
      many = PAGE;
      history.replaceState(history.state, '', linkTo(wanted.peek()));
      return read();
    },
    /** Read one more page of rows. */
    more: () => {
      many += PAGE;
      return read();
    },
  };
}

/** Return the address of this page with another filter and order. Its other parameters and its fragment stay. */
function linkTo(wanted) {
  const others = [...new URLSearchParams(location.search)].filter(([name]) => !(name in PLAIN));
  return address(location.pathname, {...Object.fromEntries(others), ...queryOf(wanted)}) + location.hash;
}
