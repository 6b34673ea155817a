// The filter of the log. It is part of the page's address, so that it can be shared as a link.

import {signal} from '../../app/ui.js';

export const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];
const NAMES = ['level', 'task', 'worker', 'kind', 'q', 'regex', 'inverse'];

/** @typedef {{level: string, task: string, worker: string, kind: string, q: string, regex: string, inverse: string}} Filter */

const read = () => {
  const given = new URLSearchParams(location.search);
  return Object.fromEntries(NAMES.map((name) => [name, given.get(name) ?? '']));
};

/** The current filter. Its values are strings; an empty string means no condition. */
export const filter = signal(read());

/** True if the filter has any condition, so that it may exclude lines. */
export const isFiltered = () => Boolean(query().q || filter.value.level || filter.value.task || filter.value.worker
  || filter.value.kind);

/** Return the filter as parameters for the API. Without a text, the options `regex` and `inverse` are left out. */
export function query() {
  const {regex, inverse, ...rest} = filter.value;
  return rest.q ? {...rest, regex, inverse} : rest;
}

/** Change parts of the filter, and the page's address accordingly. */
export function change(parts) {
  filter.value = {...filter.peek(), ...parts};
  const kept = Object.entries(filter.peek()).filter(([, value]) => value);
  history.replaceState(null, '', kept.length ? `?${new URLSearchParams(kept)}` : location.pathname);
}

/** Remove all conditions of the filter. */
export const clear = () => change(Object.fromEntries(NAMES.map((name) => [name, ''])));

/** Check whether a line matches the filter, ignoring the text, which only the server can match. */
export function passes(line) {
  const {level, task, worker, kind} = filter.peek();
  return (!level || LEVELS.indexOf(line.level) >= LEVELS.indexOf(level)) && (!task || line.task_id === Number(task))
    && (!worker || line.worker === worker) && (!kind || line.event === kind);
}
