// Charts over time, drawn by uPlot; the same figures stand in a table for who cannot see them.

import {clock, compact, day} from './text.js';
import {classes, effect, html, signal, useEffect, useRef} from './ui.js';

/**
 * A series: its values stand at the chart's times; null is a gap. `colour` names a CSS variable.
 * @typedef {{label: string, values: (number|null)[], colour: string, bars?: boolean, stacked?: boolean, filled?: boolean,
 *   points?: boolean}} Series
 */

const library = () => import('../vendor/uplot.js').then((module) => module.default);

/** Counts the changes of theme, so that charts are drawn anew in the other colours. */
const painted = signal(0);
const repaint = () => { painted.value += 1; };
new MutationObserver(repaint).observe(document.documentElement, {attributeFilter: ['data-theme']});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);

/** What a CSS variable comes to here: canvases know no variables. */
function colours(element) {
  const probe = document.createElement('span');
  element.append(probe);
  const found = (name, alpha = 1) => {
    probe.style.color = `color-mix(in srgb, var(${name}) ${alpha * 100}%, transparent)`;
    return getComputedStyle(probe).color;
  };
  return {found, done: () => probe.remove()};
}

function lineOf(series, uPlot, found) {
  const bars = series.bars ? {paths: uPlot.paths.bars({size: [0.7, 24], radius: 0.15})} : {};
  return {
    label: series.label,
    stroke: found(series.colour),
    width: series.bars ? 0 : 1.75,
    fill: series.bars ? found(series.colour, 0.85) : series.filled ? found(series.colour, 0.14) : undefined,
    points: {show: Boolean(series.points), size: 5, fill: found(series.colour)},
    ...bars,
  };
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Times at the axis: hours where they lie within two days, days otherwise. */
function ticks(splits) {
  const isShort = splits.at(-1) - splits[0] < 2 * 86_400;
  return splits.map((split) => {
    const at = new Date(split * 1000);
    return isShort ? clock(at).slice(0, 5) : `${at.getDate()} ${MONTHS[at.getMonth()]}`;
  });
}

function axes(found, format) {
  const common = {
    stroke: found('--soft'),
    font: '11px system-ui, sans-serif',
    grid: {stroke: found('--line'), width: 1},
    ticks: {show: false},
  };
  return [
    {...common, grid: {show: false}, space: 56, size: 24, values: (_, splits) => ticks(splits)},
    {...common, size: 46, gap: 4, space: 32, values: (_, splits) => splits.map((value) => (value === null ? '' : format(value)))},
  ];
}

/** Values as uPlot draws them: of stacked ones each stands on the sum of those before it. */
function laid(series) {
  const below = [];
  return series.map(({values, stacked}) => (!stacked ? values : values.map((value, index) => {
    below[index] = (below[index] ?? 0) + (value ?? 0);
    return below[index];
  })));
}

// What lies higher in a stack is drawn first, so that the lower one is not hidden.
const drawn = (times, series) => [times, ...laid(series).reverse()];

/** Room for the first and the last bar, which stand around their times. */
function widened(first, last, series, times) {
  if (times.length < 2 || !series.some(({bars}) => bars)) return [first, last];
  const half = (times[1] - times[0]) / 2;
  return [first - half, last + half];
}

function options(box, uPlot, {times, series, format, height, max}) {
  const {found, done} = colours(box);
  const made = {
    width: box.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    legend: {show: false},
    cursor: {y: false, points: {size: 6}, drag: {x: false, y: false}},
    scales: {x: {range: (_, first, last) => widened(first, last, series, times)}, y: {range: (_, __, most) => [0, max ?? (Math.max(most ?? 0, 1e-9) * 1.08)]}},
    axes: axes(found, format),
    series: [{}, ...[...series].reverse().map((each) => lineOf(each, uPlot, found))],
  };
  done();
  return made;
}

/** Draws into the box, and again when its width, the theme or the series change; `told` hears where the pointer is. */
function useDrawing(box, props, told) {
  const newest = useRef(props);
  newest.current = props;
  const plot = useRef(null);
  const shape = props.series.map(({label}) => label).join();
  useEffect(() => {
    let gone = false;
    let end = () => {};
    library().then((uPlot) => {
      if (gone) return;
      end = effect(() => {
        painted.value;
        plot.current?.destroy();
        const {times, series} = newest.current;
        const hooks = {setCursor: [({cursor}) => told(cursor.idx ?? null)]};
        plot.current = new uPlot({...options(box.current, uPlot, newest.current), hooks}, drawn(times, series), box.current);
      });
    });
    const watch = new ResizeObserver(([{contentRect}]) => (
      plot.current?.setSize({width: Math.round(contentRect.width), height: newest.current.height})));
    watch.observe(box.current);
    return () => {
      gone = true;
      end();
      watch.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(drawn(props.times, props.series)), [props.times, props.series]);
}

const Legend = ({series, at, format}) => html`<ul class="legend">${series.map((each) => html`
  <li key=${each.label}><span class="swatch" style=${{background: `var(${each.colour})`}}></span>${each.label}
    <b>${at === null || each.values[at] === null ? '' : format(each.values[at])}</b></li>`)}</ul>`;

// The table stands in a box: one pixel is no size for a table itself, and the page would grow by all its rows.
const Table = ({title, times, series, format}) => html`<div class="unseen"><table><caption>${title}</caption>
  <thead><tr><th scope="col">Time</th>${series.map(({label}) => html`<th scope="col">${label}</th>`)}</tr></thead>
  <tbody>${times.slice(-40).map((time, index) => {
    const at = Math.max(0, times.length - 40) + index;
    return html`<tr><th scope="row">${day(time * 1000)} ${clock(time * 1000)}</th>
      ${series.map(({values}) => html`<td>${values[at] === null ? '–' : format(values[at])}</td>`)}</tr>`;
  })}</tbody></table></div>`;

/**
 * A chart.
 * @param {{title: string, times: number[], series: Series[], format?: (value: number) => string, height?: number,
 *   max?: number}} props `times` are seconds since 1970; `max` fixes the top of the scale
 */
export function Chart({title, times, series, format = compact, height = 132, max}) {
  const box = useRef(null);
  const at = useRef(signal(null)).current;
  useDrawing(box, {times, series, format, height, max}, (index) => { at.value = index; });
  const isEmpty = series.every(({values}) => values.every((value) => !value));
  const pointed = at.value === null || at.value >= times.length ? null : at.value;
  return html`<figure class="chart">
    <figcaption><span>${title}</span>${pointed === null ? null
      : html` <span class="hint">${day(times[pointed] * 1000)} ${clock(times[pointed] * 1000).slice(0, 5)}</span>`}</figcaption>
    <${Legend} series=${series} at=${pointed} format=${format} />
    <div ref=${box} class=${classes('plot', {blank: isEmpty})} style=${{height: `${height}px`}} aria-hidden="true"></div>
    <${Table} title=${title} times=${times} series=${series} format=${format} />
  </figure>`;
}
