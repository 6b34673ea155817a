// The filter of the lessons, and the lesson that is open. Both are part of the page's address, so that links and the
// back button work.

import {computed, effect, signal} from '../../app/ui.js';

export const LIMIT = 50;
const FIELDS = ['text', 'like', 'kind', 'state', 'language', 'repo', 'order', 'offset'];

const given = new URLSearchParams(location.search);

/** The current filter. Its keys are the parameter names of `/api/lessons`. */
export const wanted = signal(Object.fromEntries(FIELDS.filter((name) => given.get(name)).map((name) => [name, given.get(name)])));

/** Id of the open lesson, or null. */
export const shown = signal(given.get('lesson'));

/** The parameters for the request to `/api/lessons`. */
export const query = computed(() => ({
  ...wanted.value, limit: LIMIT, offset: Number(wanted.value.offset) || undefined,
}));

const filters = () => FIELDS.filter((name) => name !== 'offset' && name !== 'order');

export const isFiltered = () => filters().some((name) => wanted.value[name]);

/** Change parts of the filter, and return to the first page of lessons. */
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
