// Values of repositories as texts, and texts as values; what is wrong with them the API says.

export const NONE = 'none';
const COMMAND = 'test_command';
const LISTS = new Set([COMMAND, 'test_paths', 'linters', 'allow', 'packages']);
const SWITCHES = new Set(['integrate', 'integrate_self_tested', 'review', 'audit']);
const WORDS = new Set(['base', 'target', 'lint']);
const PART = /"([^"]*)"|'([^']*)'|(\S+)/g;

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : word.includes("'") ? `"${word}"` : `'${word}'`);

/** A value as it is typed. */
export function spelled(name, value) {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (!Array.isArray(value)) return String(value);
  return name === COMMAND ? value.map(quoted).join(' ') : value.join(', ') || NONE;
}

/** What the API is sent for a text; an empty one takes the value back. */
export function read(name, text) {
  const said = text.trim();
  if (!said) return null;
  if (SWITCHES.has(name)) return {on: true, off: false}[said.toLowerCase()] ?? said;
  if (name === COMMAND) return [...said.matchAll(PART)].map(([, double, single, bare]) => double ?? single ?? bare);
  if (LISTS.has(name)) return said === NONE ? [] : said.split(/[\s,]+/).filter(Boolean);
  if (WORDS.has(name)) return said;
  return Number.isFinite(Number(said)) ? Number(said) : said;
}
