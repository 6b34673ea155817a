// How values are written: numbers, durations, amounts of money, and texts of others made printable.

/** A command as its owner types it, such as `nightshift retry 7`. */
export const typed = (command) => `${document.documentElement.dataset.program} ${command}`;

// The same characters as core.masking.printable: control, format and unassigned ones, and separators of lines.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** A text whose control and direction characters are visible escapes; tabs and line ends stay. */
export function printable(text) {
  return text.replaceAll('\r\n', '\n').replace(HIDDEN, (char) => {
    if (char === '\t' || char === '\n') return char;
    const code = char.codePointAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** The first line that says something, cut to a length. */
export function firstLine(text, max = 140) {
  const line = (text.split('\n').find((each) => each.trim()) ?? '').trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** Seconds as people say them: `340 ms`, `12.3 s`, `4 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 1) return `${Math.round(Math.max(0, seconds) * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  return whole(Math.round(seconds));
}

/** Seconds without fractions, for what counts up: `8 s`, `4 min 5 s`. */
export function elapsed(seconds) {
  return seconds < 60 ? `${Math.max(0, Math.floor(seconds))} s` : whole(Math.floor(seconds));
}

function whole(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** An amount of US dollars: `$0`, `$0.0042`, `$1.27`, `$1,204`; of `unpriced` calls the cost is not known. */
export function money(usd, unpriced = 0) {
  const known = dollars(usd);
  if (!unpriced) return known;
  return usd ? `${known} + ?` : '?';
}

function dollars(usd) {
  if (!usd) return '$0';
  if (usd < 0.0001) return '< $0.0001';
  if (usd < 0.1) return `$${usd.toFixed(4)}`;
  return usd < 1000 ? `$${usd.toFixed(2)}` : `$${Math.round(usd).toLocaleString('en')}`;
}

/** A number with its thousands set apart: `12,345`. */
export const grouped = (number) => number.toLocaleString('en');

/** A number in brief: `950`, `12.3k`, `4.1M`. */
export function brief(number) {
  if (Math.abs(number) < 1000) return String(Math.round(number * 100) / 100);
  const [size, unit] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([least]) => Math.abs(number) >= least);
  const amount = number / size;
  return `${amount.toFixed(Math.abs(amount) < 99.95 ? 1 : 0).replace(/\.0$/, '')}${unit}`;
}

/** A share of one as a percentage: `87 %`; `digits` behind the point. */
export const percent = (share, digits = 0) => `${(share * 100).toFixed(digits)} %`;

/** `1 line`, `2 lines`. */
export const counted = (number, one, many = `${one}s`) => `${grouped(number)} ${number === 1 ? one : many}`;

/** A name of the API as words: `gave_up` becomes `gave up`. */
export const words = (name) => name.replaceAll('_', ' ').toLowerCase();

const UNITS = [[60, 's', 1], [3600, 'min', 60], [86400, 'h', 3600], [Infinity, 'd', 86400]];

/** A moment (milliseconds) relative to another: `now`, `3 min ago`, `in 2 h`. */
export function relative(at, now) {
  const seconds = Math.round((now - at) / 1000);
  const distance = Math.abs(seconds);
  if (distance < 5) return 'now';
  const [, unit, size] = UNITS.find(([limit]) => distance < limit);
  const amount = `${Math.floor(distance / size)} ${unit}`;
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

const two = (number) => String(number).padStart(2, '0');

/** The local clock time of a moment: `09:05:07`. */
export function clock(at) {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The local date of a moment: `2026-11-22`. */
export function day(at) {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
