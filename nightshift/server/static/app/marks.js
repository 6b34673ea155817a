// Small inline elements for states, times, amounts and numbers.

import {quarter, second} from './clock.js';
import {clock, counted, day, duration, elapsed, grouped, money, relative, tokens, words, zone} from './text.js';
import {classes, html} from './ui.js';

const none = html`<span class="none">–</span>`;

/** A status, state or outcome, in the colour that belongs to it. */
export const Pill = ({status, title, children}) => html`
  <span class=${`pill ${status}`} title=${title}>${children ?? words(status)}</span>`;

const WORTH = {
  verified: 'done', tests_passed: 'ok', behaviour_kept: 'ok', self_tested: 'warn', documented: 'ok', removed: 'ok', exit_code: 'warn',
  doubtful: 'warn', draft: 'warn',
};

/** The label of a commit's verdict, in the colour that says what it is worth. */
export const Label = ({label}) => html`<${Pill} status=${WORTH[label] ?? ''}>${words(label || 'not judged')}<//>`;

/**
 * A time, by default relative to now. The tooltip has the full local time with its time zone.
 * @param {{at: string|number|null, form?: 'relative'|'clock'|'short'|'day'|'full'}} props `at` is a time of the API or
 * milliseconds
 */
export function Moment({at, form = 'relative'}) {
  if (!at) return none;
  const time = new Date(at);
  const full = `${day(time)} ${clock(time)} ${zone(time)}`;
  const said = {
    // `quarter` is updated only every 15 seconds. Without `Math.max`, a past time that is later than `quarter` would be
    // shown as a future time.
    relative: () => relative(time.getTime(), time < Date.now() ? Math.max(quarter.value, time.getTime()) : quarter.value),
    clock: () => clock(time),
    short: () => (day(time) === day(Date.now()) ? '' : `${day(time).slice(5)} `) + clock(time).slice(0, 5),
    day: () => day(time),
    full: () => full,
  }[form]();
  return html`<time datetime=${time.toISOString()} title=${full}>${said}</time>`;
}

/** A duration: a fixed one (`seconds`), or the time since `since`, which counts up. */
export function Span({seconds, since}) {
  if (since) return html`<span class="number">${elapsed((second.value - new Date(since)) / 1000)}</span>`;
  return html`<span class="number">${duration(seconds)}</span>`;
}

/** An amount of money. `unpriced` counts the calls whose price is unknown and which the sum does not include. */
export const Money = ({usd, unpriced = 0}) => html`
  <span class="number" title=${unpriced ? `the price of ${counted(unpriced, 'call')} is not set` : undefined}>
    ${money(usd ?? 0, unpriced)}</span>`;

/** A number in short form, with the full number as its tooltip. */
export function Count({value}) {
  if (value === null || value === undefined) return none;
  const text = tokens(value);
  return html`<span class="number" title=${text === grouped(value) ? undefined : grouped(value)}>${text}</span>`;
}

/** A sentence of the daemon; text in `backticks` is shown as code. */
export const Prose = ({text}) => text.split('`').map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));

/** A dot in the colour of a state. `label` is the meaning, for screen readers. */
export const Dot = ({kind, label}) => html`
  <span class=${classes('dot', kind)} role=${label ? 'img' : undefined} aria-label=${label} title=${label}
    aria-hidden=${label ? undefined : 'true'}></span>`;

/**
 * A gauge that shows `value` as a share of `most`. The gauge has the tone `warn` from the share `low` on, and the tone
 * `bad` from the share `high` on.
 */
export function Meter({value, most, label, low = 0.75, high = 0.95}) {
  const share = most ? Math.min(1, value / most) : 0;
  const kind = share >= high ? 'bad' : share >= low ? 'warn' : '';
  return html`<span class=${classes('meter', kind)} role="meter" aria-label=${label} aria-valuemin="0"
    aria-valuemax=${most} aria-valuenow=${value} title=${label}><span style=${{width: `${share * 100}%`}}></span></span>`;
}

/** A line chart without axes. `label` says for screen readers what the chart shows. */
export function Sparkline({values, label}) {
  const [width, height] = [96, 22];
  const known = values.filter((value) => value !== null);
  if (known.length < 2 || !known.some(Boolean)) return html`<span class="sparkline none" aria-hidden="true"></span>`;
  const most = Math.max(...known, 1e-9);
  const least = Math.min(0, ...known);
  const step = width / (values.length - 1);
  const points = values.map((value, index) => {
    const y = height - 1 - ((value ?? 0) - least) / (most - least || 1) * (height - 2);
    return `${(index * step).toFixed(1)},${y.toFixed(1)}`;
  });
  return html`<svg class="sparkline" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img"
    aria-label=${label}><polygon points=${`0,${height} ${points.join(' ')} ${width},${height}`} />
    <polyline points=${points.join(' ')} /></svg>`;
}
