// Converts settings of repositories to the texts of form fields and back. The API validates the values.

export const NONE = 'none';
const COMMAND = 'test_command';
const LISTS = new Set([COMMAND, 'test_paths', 'linters', 'allow', 'packages']);
const SWITCHES = new Set(['integrate', 'integrate_self_tested', 'review', 'audit']);
const WORDS = new Set(['base', 'target', 'lint']);
const PART = /"([^"]*)"|'([^']*)'|(\S+)/g;

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : word.includes("'") ? `"${word}"` : `'${word}'`);

/** Write a value as the owner would type it into a form; `read` is the reverse. */
export function spelled(name, value) {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (!Array.isArray(value)) return String(value);
  return name === COMMAND ? value.map(quoted).join(' ') : value.join(', ') || NONE;
}

/**
 * Return the value of a setting, as sent to the API, for the text of a form field. An empty text resets the setting.
 */
export function read(name, text) {
  const said = text.trim();
  if (!said) return null;
  if (SWITCHES.has(name)) return {on: true, off: false}[said.toLowerCase()] ?? said;
  if (name === COMMAND) return [...said.matchAll(PART)].map(([, double, single, bare]) => double ?? single ?? bare);
  if (LISTS.has(name)) return said === NONE ? [] : said.split(/[\s,]+/).filter(Boolean);
  if (WORDS.has(name)) return said;
  return Number.isFinite(Number(said)) ? Number(said) : said;
}
