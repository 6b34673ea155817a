// Which lessons are wanted, and which one is open: kept in the address, so that it can be shared and gone back to.

import {computed, effect, signal} from '../../app/ui.js';

export const LIMIT = 50;
const FIELDS = ['text', 'like', 'kind', 'state', 'language', 'repo', 'order', 'offset'];

const given = new URLSearchParams(location.search);

/** What is asked for, by the names of `/api/lessons`. */
export const wanted = signal(Object.fromEntries(FIELDS.filter((name) => given.get(name)).map((name) => [name, given.get(name)])));

/** The lesson that is open, or null. */
export const shown = signal(given.get('lesson'));

/** What is sent. */
export const query = computed(() => ({
  ...wanted.value, limit: LIMIT, offset: Number(wanted.value.offset) || undefined,
}));

const filters = () => FIELDS.filter((name) => name !== 'offset' && name !== 'order');

export const isFiltered = () => filters().some((name) => wanted.value[name]);

/** Change some of what is wanted; the list begins anew. A search by meaning and one by words exclude each other. */
export function want(change) {
  const next = {...wanted.peek(), offset: undefined, ...change};
  wanted.value = Object.fromEntries(Object.entries(next).filter(([, value]) => value));
}

export const turn = (offset) => want({offset: offset || undefined});

export const reset = () => { wanted.value = {}; };

effect(() => {
  const all = {...wanted.value, lesson: shown.value};
  const pairs = [...FIELDS, 'lesson'].filter((name) => all[name]).map((name) => [name, all[name]]);
  const search = pairs.length ? `?${new URLSearchParams(pairs)}` : '';
  if (search !== location.search) history.replaceState(null, '', `${location.pathname}${search}`);
});
