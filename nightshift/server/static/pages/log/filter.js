// What of the log is asked for: the filter, kept in the page's address so that it can be handed on.

import {signal} from '../../app/ui.js';

export const LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];
const NAMES = ['level', 'task', 'worker', 'kind', 'q', 'regex', 'inverse'];

/** @typedef {{level: string, task: string, worker: string, kind: string, q: string, regex: string, inverse: string}} Filter */

const read = () => {
  const given = new URLSearchParams(location.search);
  return Object.fromEntries(NAMES.map((name) => [name, given.get(name) ?? '']));
};

/** The filter that holds; texts, empty where nothing is asked. */
export const filter = signal(read());

/** Whether anything is filtered out. */
export const isFiltered = () => Boolean(query().q || filter.value.level || filter.value.task || filter.value.worker
  || filter.value.kind);

/** The filter as the API takes it; without a text, how to read the text means nothing. */
export function query() {
  const {regex, inverse, ...rest} = filter.value;
  return rest.q ? {...rest, regex, inverse} : rest;
}

/** Change parts of the filter, and the address with it. */
export function change(parts) {
  filter.value = {...filter.peek(), ...parts};
  const kept = Object.entries(filter.peek()).filter(([, value]) => value);
  history.replaceState(null, '', kept.length ? `?${new URLSearchParams(kept)}` : location.pathname);
}

/** Ask for everything. */
export const clear = () => change(Object.fromEntries(NAMES.map((name) => [name, ''])));

/** Whether the filter lets a line through, but for its text, which the server alone looks at. */
export function passes(line) {
  const {level, task, worker, kind} = filter.peek();
  return (!level || LEVELS.indexOf(line.level) >= LEVELS.indexOf(level)) && (!task || line.task_id === Number(task))
    && (!worker || line.worker === worker) && (!kind || line.event === kind);
}
