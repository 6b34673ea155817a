// A table that can be sorted. The keys j and k move from row to row; x and shift-click choose rows.

import {useKeys} from './keys.js';
import {classes, html, useMemo, useRef, useSignal} from './ui.js';

/**
 * A column. `cell` draws its cells (default: the value of `key`). `sort` returns the value to sort by (true: the value
 * of `key`). A `minor` column is hidden on narrow screens. A column with `what` takes the width that the other columns
 * leave. A column with `most` is sorted in descending order by the first click on its heading.
 * @typedef {{key: string, label: string, cell?: (row: any) => any, sort?: true|((row: any) => any), number?: boolean,
 * minor?: boolean, what?: boolean, most?: boolean}} Column
 */

const compared = (one, other) => {
  if (one === other) return 0;
  if (one === null || one === undefined) return 1;
  if (other === null || other === undefined) return -1;
  return one < other ? -1 : 1;
};

/** Return the rows sorted by a column. */
function sorted(rows, columns, order) {
  const column = order && columns.find(({key}) => key === order.key);
  if (!column?.sort) return rows;
  const value = column.sort === true ? (row) => row[column.key] : column.sort;
  const sign = order.down ? -1 : 1;
  return [...rows].sort((one, other) => sign * compared(value(one), value(other)));
}

function Head({column, order, onSort}) {
  const kind = classes({number: column.number, minor: column.minor});
  if (!column.sort) return html`<th scope="col" class=${kind}>${column.label}</th>`;
  const isChosen = order?.key === column.key;
  const state = isChosen ? (order.down ? 'descending' : 'ascending') : 'none';
  return html`<th scope="col" class=${kind} aria-sort=${state}>
    <button type="button" class="bare" onClick=${() => onSort(column.key)}>${column.label}</button></th>`;
}

/** Bind the keys that move from row to row. The current rows and actions are looked up when a key is pressed. */
function useWalk({rows, keyOf, at, choose, onOpen, rowKeys = {}, body}) {
  const now = useRef(null);
  now.current = {rows, keyOf, choose, onOpen, rowKeys};
  const step = (by) => {
    const {rows: all, keyOf: key} = now.current;
    if (!all.length) return;
    const from = all.findIndex((row) => key(row) === at.peek());
    const to = Math.min(all.length - 1, Math.max(0, from < 0 ? 0 : from + by));
    at.value = key(all[to]);
    body.current?.children[to]?.scrollIntoView({block: 'nearest'});
  };
  const here = () => now.current.rows.find((row) => now.current.keyOf(row) === at.peek());
  const withRow = (fn) => () => here() && fn(here());
  useKeys({
    j: ['next row', () => step(1)],
    k: ['previous row', () => step(-1)],
    ...(choose ? {x: ['choose the row', withRow((row) => now.current.choose(now.current.keyOf(row), false))]} : {}),
    ...(onOpen ? {Enter: ['open the row', withRow((row) => now.current.onOpen(row))]} : {}),
    ...Object.fromEntries(Object.entries(rowKeys).map(([key, [what]]) => (
      [key, [what, withRow((row) => now.current.rowKeys[key][1](row, body.current))]]))),
  }, [Boolean(choose), Boolean(onOpen)]);
}

/** Choose a row, or deselect it if it is already chosen; `chosen` is a signal that holds a set of keys. */
export function toggle(chosen, key) {
  const next = new Set(chosen.peek());
  if (!next.delete(key)) next.add(key);
  chosen.value = next;
}

/**
 * Return a function that toggles a row. With `ranged`, all rows between this row and the row that was toggled last get
 * the same state as this row.
 */
function useChoice(rows, keyOf, chosen) {
  const last = useRef(null);
  if (!chosen) return null;
  return (key, ranged) => {
    const from = rows.findIndex((row) => keyOf(row) === last.current);
    const to = rows.findIndex((row) => keyOf(row) === key);
    toggle(chosen, key);
    if (ranged && from >= 0 && to >= 0) {
      const next = new Set(chosen.peek());
      const between = rows.slice(Math.min(from, to), Math.max(from, to) + 1).map(keyOf);
      between.forEach((each) => (next.has(key) ? next.add(each) : each !== key && next.delete(each)));
      chosen.value = next;
    }
    last.current = key;
  };
}

/**
 * A table that can be sorted, with rows that can be chosen.
 * @param {{rows: any[], columns: Column[], keyOf: (row: any) => any, label: string, order?: object, chosen?: object,
 * onOpen?: (row: any) => void}} props `order` is a signal of `{key, down}` or null (by default the table has its own).
 * `chosen` is a signal of a set of keys; without it, rows cannot be chosen. `served` means that the rows are already
 * sorted. `rowKeys` maps keys to actions on the current row.
 */
export function Table({
  rows, columns, keyOf, label, order: given, chosen, onOpen, rowKeys, served = false, walk = true,
}) {
  const own = useSignal(null);
  const order = given ?? own;
  const at = useSignal(null);
  const body = useRef(null);
  const shown = useMemo(() => (served ? rows : sorted(rows, columns, order.value)), [rows, columns, order.value]);
  const sort = (key) => {
    const {value} = order;
    const first = Boolean(columns.find((column) => column.key === key).most);
    order.value = value?.key !== key ? {key, down: first} : value.down === first ? {key, down: !first} : null;
  };
  const choose = useChoice(shown, keyOf, chosen);
  if (walk) useWalk({rows: shown, keyOf, at, choose, onOpen, rowKeys, body});
  return html`<div class="scroll"><table aria-label=${label}>
    <thead><tr>${chosen ? html`<th scope="col" class="choose"><${ChooseAll} rows=${shown} keyOf=${keyOf} chosen=${chosen} /></th>` : null}
      ${columns.map((column) => html`<${Head} key=${column.key} column=${column} order=${order.value} onSort=${sort} />`)}</tr></thead>
    <tbody ref=${body}>${shown.map((row) => html`<${Row} key=${keyOf(row)} id=${keyOf(row)} row=${row} columns=${columns}
      chosen=${chosen} choose=${choose} isAt=${at.value === keyOf(row)} />`)}</tbody>
  </table></div>`;
}

function ChooseAll({rows, keyOf, chosen}) {
  const all = rows.length > 0 && rows.every((row) => chosen.value.has(keyOf(row)));
  return html`<input type="checkbox" aria-label="Choose all rows" checked=${all}
    onChange=${() => { chosen.value = all ? new Set() : new Set(rows.map(keyOf)); }} />`;
}

const Row = ({id, row, columns, chosen, choose, isAt}) => html`
  <tr class=${classes({at: isAt})} aria-current=${isAt ? 'true' : undefined}
    aria-selected=${chosen ? String(chosen.value.has(id)) : undefined} data-key=${id}>
    ${chosen ? html`<td class="choose"><input type="checkbox" aria-label=${`Choose ${id}`} checked=${chosen.value.has(id)}
      onClick=${(event) => choose(id, event.shiftKey)} /></td>` : null}
    ${columns.map((column) => html`<td key=${column.key} class=${classes({number: column.number, minor: column.minor, what: column.what})}>
      ${column.cell ? column.cell(row) : row[column.key]}</td>`)}
  </tr>`;
