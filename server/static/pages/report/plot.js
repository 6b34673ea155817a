// A figure over nine spans of time as a small plot: bars from zero, or a line with gaps where nothing is known.

import {html, useId} from '../../app/ui.js';

const WIDTH = 240;
const HEIGHT = 64;
const TOP = 6;

const place = (series) => {
  const step = WIDTH / series.values.length;
  const most = Math.max(series.top ?? 0, ...series.values.map((value) => value ?? 0)) || 1;
  return series.values.map((value, index) => ({
    x: step * (index + 0.5),
    y: value === null ? null : HEIGHT - (HEIGHT - TOP) * value / most,
    width: step - 4,
    label: `${series.labels[index]}: ${series.shown[index]}`,
    now: index === series.values.length - 1,
  }));
};

/** The points of the lines between values that are not known. */
function pieces(marks) {
  const found = [[]];
  marks.forEach(({x, y}) => (y === null ? found.push([]) : found.at(-1).push(`${x.toFixed(1)},${y.toFixed(1)}`)));
  return found.filter((piece) => piece.length > 1);
}

const Bar = ({mark}) => html`<rect class=${mark.now ? 'now' : undefined} x=${mark.x - mark.width / 2} width=${mark.width}
  y=${Math.min(mark.y, HEIGHT - 1)} height=${Math.max(1, HEIGHT - mark.y)}><title>${mark.label}</title></rect>`;

const Point = ({mark}) => html`<circle class=${mark.now ? 'now' : undefined} cx=${mark.x} cy=${mark.y} r=${mark.now ? 3.5 : 2}>
  <title>${mark.label}</title></circle>`;

/** @param {{series: object}} props a series of `/api/report/{name}` */
export function Plot({series}) {
  const id = useId();
  const marks = place(series);
  const known = marks.filter(({y}) => y !== null);
  const compared = [series.usual && `${series.usual} usual`, series.change].filter(Boolean).join('; ');
  return html`<figure>
    <figcaption>${series.name} <b>${series.shown.at(-1)}</b></figcaption>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT + 2}`} role="img" aria-labelledby=${`${id}-t ${id}-d`}>
      <title id=${`${id}-t`}>${series.name}</title>
      <desc id=${`${id}-d`}>${marks.map(({label}) => label).join('; ')}</desc>
      <line class="ground" x1="0" x2=${WIDTH} y1=${HEIGHT + 0.5} y2=${HEIGHT + 0.5} />
      ${series.bars ? null : pieces(marks).map((points) => html`<polyline key=${points[0]} points=${points.join(' ')} />`)}
      ${known.map((mark) => html`<${series.bars ? Bar : Point} key=${mark.label} mark=${mark} />`)}
    </svg>
    <p class="hint">${compared || ' '}</p>
  </figure>`;
}
