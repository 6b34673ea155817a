// Formats numbers, durations and amounts of money, and makes untrusted texts printable.

/** Return a command as the owner types it, such as `nightshift retry 7`. */
export const typed = (command) => `${document.documentElement.dataset.program} ${command}`;

// The same characters as in core.text.masking.printable: control, format and unassigned characters, and line
// separators.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** Return a text in which control and direction characters are visible escapes. Tabs and line ends stay. */
export function printable(text) {
  return text.replaceAll('\r\n', '\n').replace(HIDDEN, (char) => {
    if (char === '\t' || char === '\n') return char;
    const code = char.codePointAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** Return the first non-blank line, cut to a length. */
export function firstLine(text, max = 140) {
  const line = (text.split('\n').find((each) => each.trim()) ?? '').trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

// The formats of shares, money, counts and durations are the same as in core/text/formats.py. Both are tested with
// tests/core/text/formats.json.

/**
 * Format a share between 0 and 1 as a percentage, such as `87 %`. A share that would round to 0 % is `< 1 %`, one that
 * would round to 100 % is `> 99 %`.
 */
export function percent(share) {
  if (share === null || share === undefined) return '–';
  const text = (100 * share).toFixed(0);
  if (share > 0 && text === '0') return '< 1 %';
  return share < 1 && text === '100' ? '> 99 %' : `${text} %`;
}

/**
 * Format US dollars: `$0`, `$0.0042`, `$1.27`, `$1,204`. If there are `unpriced` calls, whose cost is not known, the
 * form is `$1.27 + ?`.
 */
export function money(usd, unpriced = 0) {
  if (unpriced) return usd ? `${dollars(usd)} + ?` : '$?';
  return dollars(usd);
}

function dollars(usd) {
  if (!usd) return '$0';
  if (usd < 0) return `-${dollars(-usd)}`;
  if (usd < 0.0001) return '< $0.0001';
  if (usd < 0.09995) return `$${usd.toFixed(4)}`;
  return usd < 999.995 ? `$${usd.toFixed(2)}` : `$${grouped(Number(usd.toFixed(0)))}`;
}

const SIZES = [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'G'], [1e12, 'T']];

/** Format a number in few characters: `950`, `12.3k`, `123k`, `4M`. Below a thousand it has up to two decimals. */
export function compact(number) {
  if (number < 0) return `-${compact(-number)}`;
  const tried = SIZES.map(([size, unit]) => {
    const amount = number / size;
    const places = amount < 99.95 ? 1 : 0;
    return [amount.toFixed(size === 1 ? 2 : places), unit];
  });
  const [text, unit] = tried.find(([each]) => Number(each) < 1000) ?? tried.at(-1);
  return `${text.includes('.') ? text.replace(/\.?0+$/, '') : text}${unit}`;
}

/** Format a count of tokens: the full number up to `9,999`, and a short form such as `12.3k` above. */
export function tokens(count) {
  const whole = Number(count.toFixed(0));
  return whole < 10_000 ? grouped(whole) : compact(count);
}

/** Format a duration in its two largest units: `340 ms`, `12.3 s`, `4 min 5 s`, `3 h`, `2 d 4 h`. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const length = Math.max(0, seconds);
  if (length < 0.9995) return `${(1000 * length).toFixed(0)} ms`;
  return length < 59.95 ? `${length.toFixed(1)} s` : long(Number(length.toFixed(0)));
}

/** Format a duration that counts up, without fractions of seconds: `8 s`, `4 min 5 s`. */
export const elapsed = (seconds) => long(Math.max(0, Math.floor(seconds)));

const UNITS = [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'min'], [60, 'min', 1, 's'], [1, 's', 1, '']];

function long(seconds) {
  const [size, unit, below, small] = UNITS.find(([least]) => seconds >= least) ?? UNITS.at(-1);
  const rest = small ? Math.floor((seconds % size) / below) : 0;
  return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${small}` : ''}`;
}

/** Format a time as its distance from now, in its largest unit: `now`, `3 h ago`, or `in 2 h` for the future. */
export function ago(seconds) {
  const distance = Number(Math.abs(seconds).toFixed(0));
  if (distance < 5) return 'now';
  const [size, unit] = UNITS.find(([least]) => distance >= least);
  const amount = `${Math.floor(distance / size)} ${unit}`;
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

/** Format a time relative to another time; both are in milliseconds. */
export const relative = (at, now) => ago((now - at) / 1000);

/** Format a number with thousands separators: `12,345`. */
export const grouped = (number) => number.toLocaleString('en');

/** Format a number with its noun in the right form: `1 line`, `2 lines`. */
export const counted = (number, one, many = `${one}s`) => `${grouped(number)} ${number === 1 ? one : many}`;

/** Convert a name of the API to words: `gave_up` becomes `gave up`. */
export const words = (name) => name.replaceAll('_', ' ').toLowerCase();

const two = (number) => String(number).padStart(2, '0');

/** Format a time as the local time of day: `09:05:07`. */
export function clock(at) {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Format a time as the local date: `2026-11-22`. */
export function day(at) {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Return the local time zone at a given time, such as `GMT+1`. */
export const zone = (at) => new Intl.DateTimeFormat('en', {timeZoneName: 'short'}).formatToParts(new Date(at)).find(({type}) => type === 'timeZoneName').value;
