// What is known of the settings, what was typed and is not saved yet, and what would come of it.

import {fault, put, source} from '../../app/api.js';
import {gently} from '../../app/live.js';
import {toast} from '../../app/shell.js';
import {computed, signal} from '../../app/ui.js';
import {same, typed, written} from './values.js';

/** `/api/settings`. */
export const known = source('/api/settings');

/** A draft that lets config.yaml decide again; JSON leaves it out. */
export const REMOVE = Symbol('remove');

/** By name what was typed; null puts a setting back to its default. */
export const drafts = signal({});

const NOTHING = {diff: [], faults: {}, changed: [], later: []};

/** What a dry run says of the drafts: the lines that would change, and why some would be refused. */
export const outlook = signal(NOTHING);

/** Why the last try to save failed; empty when it did not. */
export const refused = signal('');

/** The names of what would be written. */
export const drafted = computed(() => {
  const all = drafts.value;
  return (known.data?.settings ?? []).filter((row) => row.name in all && isNews(row, all[row.name])).map(({name}) => name);
});

const rows = () => known.peek()?.settings ?? [];

export const rowOf = (name) => (known.data?.settings ?? []).find((row) => row.name === name);

/** What the sources say, which a restart may still have to put in force. */
export const saved = (row) => (row.waits ? row.next : row.value);

/** What stands in a setting's control. */
export function shown(row) {
  const all = drafts.value;
  if (!(row.name in all) || all[row.name] === REMOVE) return row.veiled ? '' : typed(row, saved(row));
  return all[row.name] === null ? typed(row, row.default) : all[row.name];
}

/** Whether something else than the default holds or is typed. */
export const isChanged = (row) => row.name in drafts.value || row.origin !== 'default';

/** Whether the files decide about a setting, and say something else than the default. */
export const isSet = (row) => ['config.yaml', 'page'].includes(row.origin)
  && (row.kind === 'secret' ? row.is_set : row.veiled || !same(saved(row), row.default));

function isNews(row, draft) {
  if (draft === REMOVE) return row.origin === 'page';
  if (draft === null) return isSet(row);
  if (row.kind === 'secret') return draft !== '';
  const value = written(row, draft);
  return value === null ? isSet(row) : row.veiled ? draft !== '' : !same(value, saved(row));
}

/** Whether a line was added that is still empty. */
const isBegun = (row, draft) => Array.isArray(draft) && draft.some(({key}) => key === '');

/** Type something, or go back to the default (null) or to what config.yaml says (REMOVE). */
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

/** What would be sent. */
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

/** Read the settings again, and forget drafts that have become true meanwhile. */
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

/** Save the drafts. */
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
