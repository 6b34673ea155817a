// Converts values of settings between the API and the controls of the form.

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

const number = (text) => (NUMBER.test(text.trim()) ? Number(text) : text.trim());

const lines = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);

const price = ({input, output}) => ({input_per_million_usd: number(input), output_per_million_usd: number(output)});

const TYPED = {
  switch: (value) => value,
  choice: (value) => value,
  choices: (value) => value,
  list: (value) => value.join('\n'),
  mapping: (value) => Object.entries(value).map(([key, each]) => ({key, value: Array.isArray(each) ? each.join(', ') : String(each)})),
  prices: (value) => Object.entries(value).map(([key, each]) => (
    {key, input: String(each.input_per_million_usd), output: String(each.output_per_million_usd)})),
};

const WRITTEN = {
  switch: (draft) => draft,
  choice: (draft) => draft,
  choices: (draft) => draft,
  'whole number': (draft) => (draft.trim() ? number(draft) : null),
  number: (draft) => (draft.trim() ? number(draft) : null),
  text: (draft) => draft.trim() || null,
  secret: (draft) => draft,
  list: lines,
  mapping: (draft) => Object.fromEntries(draft.filter(({key}) => key.trim()).map(({key, value}) => [key.trim(), value.trim()])),
  prices: (draft) => Object.fromEntries(draft.filter(({key}) => key.trim()).map((each) => [each.key.trim(), price(each)])),
};

/** Return what the control of a setting shows for a value. */
export function typed(row, value) {
  if (row.kind in TYPED) return TYPED[row.kind](value);
  return value === null ? '' : String(value);
}

/** Return the value that the content of a control stands for; null means the default. */
export const written = (row, draft) => WRITTEN[row.kind](draft);

const sorted = (value) => (value !== null && typeof value === 'object' && !Array.isArray(value)
  ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value);

/** True if two values are equal, ignoring the order of keys. */
export const same = (one, other) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

/** Describe the value of a setting in a few words. */
export function brief(row, value) {
  if (row.kind === 'secret') return row.is_set ? 'set' : 'not set';
  if (value === null || value === '') return 'unset';
  if (row.kind === 'switch') return value ? 'on' : 'off';
  if (typeof value !== 'object') return row.unit ? `${value} ${row.unit}` : String(value);
  const said = Array.isArray(value) ? value.join(', ') : Object.entries(value).map(([key, each]) => `${key}: ${JSON.stringify(each)}`).join(', ');
  return said || 'none';
}

/** Describe the bounds of a setting, such as `1 to 64` or `more than 0`. */
export function bounds({least, above, most}) {
  if (least !== null && most !== null) return `${least} to ${most}`;
  const low = above === null ? (least === null ? '' : `at least ${least}`) : `more than ${above}`;
  const high = most === null ? '' : `at most ${most}`;
  return [low, high].filter(Boolean).join(', ');
}
