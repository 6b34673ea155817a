// Builds the small pieces of the pages. Text always becomes a text node, so nothing that a model wrote can be markup.

/** An element: `el('a', {href: '/', class: 'x'}, 'text', child)`; null children are left out. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

/** The first line that says something, cut to a length. */
export function firstLine(text, max = 140) {
  const line = (text.split('\n').find((each) => each.trim()) ?? '').trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

export const none = () => el('span', {class: 'none'}, '–');

export const pill = (status) => el('span', {class: `pill ${status}`}, status);

/** A time of the API, shown relative to now; see `keepTimes`. */
export function moment(text) {
  if (!text) return none();
  const made = el('time', {datetime: text});
  tell(made);
  return made;
}

const units = [[60, 's', 1], [3600, 'min', 60], [86400, 'h', 3600], [Infinity, 'd', 86400]];

function tell(time) {
  const at = new Date(time.dateTime);
  const seconds = Math.round((Date.now() - at) / 1000);
  const distance = Math.abs(seconds);
  const [, unit, size] = units.find(([limit]) => distance < limit);
  const amount = `${Math.floor(distance / size)} ${unit}`;
  time.title = at.toLocaleString();
  time.textContent = distance < 5 ? 'now' : seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

/** Shows every time of the page relative to now, and keeps it so. Log lines keep their clock time. */
export function keepTimes() {
  const all = () => document.querySelectorAll('main time').forEach((time) => {
    if (!time.closest('.log')) tell(time);
  });
  all();
  setInterval(all, 15000);
}

export function clock(text) {
  const at = new Date(text);
  const two = (number) => String(number).padStart(2, '0');
  return el('time', {datetime: text, title: at.toLocaleString()},
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`);
}

/** A line of the log, as `log_row` in templates/parts.html. */
export function logRow(line) {
  const about = line.task_id
    ? el('a', {class: 'about', href: `/task/${line.task_id}`}, `#${line.task_id}`)
    : el('span', {class: 'about'});
  return el('li', {class: line.level, 'data-id': line.id}, clock(line.timestamp), ' ',
    el('span', {class: 'level'}, line.level), ' ', about, ' ',
    el('span', {class: 'event'}, line.event), ' ', el('span', {class: 'text'}, line.message));
}

/** Gives the lines that came with the page the reader's own clock time. */
export function localClock(list) {
  list.querySelectorAll('time').forEach((time) => time.replaceWith(clock(time.dateTime)));
}

/** Seconds as people say them. */
export function duration(seconds) {
  if (seconds === null) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
