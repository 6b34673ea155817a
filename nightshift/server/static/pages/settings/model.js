// State of the settings page: the settings, unsaved changes (drafts), and what saving them would do.

import {fault, put, source} from '../../app/api.js';
import {gently} from '../../app/live.js';
import {toast} from '../../app/shell.js';
import {computed, signal} from '../../app/ui.js';
import {same, typed, written} from './values.js';

/** The answer of `/api/settings` as a source. */
export const known = source('/api/settings');

/**
 * Value of a draft that removes the override, so that config.yaml applies again. It is a symbol, which JSON leaves out.
 */
export const REMOVE = Symbol('remove');

/** Drafts by name of the setting. The value null resets a setting to its default. */
export const drafts = signal({});

const NOTHING = {diff: [], faults: {}, changed: [], later: []};

/**
 * The result of a dry run of saving the drafts: the lines of the file that would change, and why drafts would be
 * refused.
 */
export const outlook = signal(NOTHING);

/** Why the last attempt to save failed; empty if it succeeded. */
export const refused = signal('');

/** Names of the settings that saving would write. */
export const drafted = computed(() => {
  const all = drafts.value;
  return (known.data?.settings ?? []).filter((row) => row.name in all && isNews(row, all[row.name])).map(({name}) => name);
});

const rows = () => known.peek()?.settings ?? [];

export const rowOf = (name) => (known.data?.settings ?? []).find((row) => row.name === name);

/** Return the saved value of a setting. It may take effect only after a restart. */
export const saved = (row) => (row.waits ? row.next : row.value);

/** Return what the control of a setting shows: its draft, or else its saved value. */
export function shown(row) {
  const all = drafts.value;
  if (!(row.name in all) || all[row.name] === REMOVE) return row.veiled ? '' : typed(row, saved(row));
  return all[row.name] === null ? typed(row, row.default) : all[row.name];
}

/** True if the setting does not come from the default, or has a draft. */
export const isChanged = (row) => row.name in drafts.value || row.origin !== 'default';

/** True if a file sets the setting to a value other than the default. */
export const isSet = (row) => ['config.yaml', 'page'].includes(row.origin)
  && (row.kind === 'secret' ? row.is_set : row.veiled || !same(saved(row), row.default));

function isNews(row, draft) {
  if (draft === REMOVE) return row.origin === 'page';
  if (draft === null) return isSet(row);
  if (row.kind === 'secret') return draft !== '';
  const value = written(row, draft);
  return value === null ? isSet(row) : row.veiled ? draft !== '' : !same(value, saved(row));
}

/** True if the draft has a line whose name is still empty, such as a line that was just added. */
const isBegun = (row, draft) => Array.isArray(draft) && draft.some(({key}) => key === '');

/** Set the draft of a setting: a value, null for the default, or `REMOVE` for the value in config.yaml. */
export function edit(row, draft) {
  const {[row.name]: _, ...others} = drafts.peek();
  drafts.value = isNews(row, draft) || isBegun(row, draft) ? {...others, [row.name]: draft} : others;
  look();
}

export function undo(name) {
  const {[name]: _, ...others} = drafts.peek();
  drafts.value = others;
  look();
}

export function undoAll() {
  drafts.value = {};
  refused.value = '';
  look();
}

/** Return the body of the request that saves the drafts. */
export function body() {
  const all = drafts.peek();
  const named = rows().filter(({name}) => drafted.peek().includes(name));
  const typedIn = named.filter(({name}) => all[name] !== REMOVE);
  return {
    changes: Object.fromEntries(typedIn.map((row) => [row.name, all[row.name] === null ? null : written(row, all[row.name])])),
    reset: named.filter((row) => !typedIn.includes(row)).map(({name}) => name),
  };
}

let turn = 0;

async function ask() {
  const mine = ++turn;
  if (!drafted.peek().length) {
    outlook.value = NOTHING;
    refused.value = '';
    return;
  }
  const answer = await put('/api/settings', {...body(), dry_run: true});
  if (mine !== turn) return;
  if (answer.ok) outlook.value = answer.data;
  else refused.value = fault(answer);
}

const look = gently(ask, 250);

/** Read the settings again, and drop the drafts that are equal to the new values. */
export async function reread() {
  await known.reload();
  const all = drafts.peek();
  const still = rows().filter((row) => row.name in all && isNews(row, all[row.name]));
  drafts.value = Object.fromEntries(still.map((row) => [row.name, all[row.name]]));
  look();
}

function told({changed, later}) {
  const now = changed.length ? `${changed.join(', ')} ${changed.length > 1 ? 'are' : 'is'} in effect now` : '';
  const then = later.length ? `${later.map(({name}) => name).join(', ')} after a restart` : '';
  return `Saved. ${[now, then].filter(Boolean).join('; ')}`.trim();
}

/** Save the drafts, and report the result. */
export async function save() {
  const answer = await put('/api/settings', {...body(), digest: known.peek().digest});
  if (answer.ok) {
    drafts.value = {};
    toast(told(answer.data), 'good');
  } else if (answer.status === 422) {
    outlook.value = {...outlook.peek(), faults: answer.data.fields};
  }
  await reread();
  refused.value = answer.ok ? '' : fault(answer);
}
