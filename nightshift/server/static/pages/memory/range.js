// An estimate and its confidence interval as a small chart: a point and a bar on a line with zero in the middle.

import {html} from '../../app/ui.js';

const WIDTH = 120;
const HEIGHT = 18;

/**
 * Return `good` or `bad` if zero is outside of the confidence interval. Otherwise the effect may be chance, and the
 * result is an empty string.
 */
export function verdict(found) {
  if (!found || (found.low <= 0 && found.high >= 0)) return '';
  return found.estimate > 0 ? 'good' : 'bad';
}

/**
 * The chart.
 * @param {{found: {estimate: number, low: number, high: number}, most: number, label: string}}
 * props `most` is the absolute value at both ends of the line
 */
export function Range({found, most, label, width = WIDTH}) {
  const x = (value) => (Math.max(-1, Math.min(1, value / (most || 1))) + 1) / 2 * (width - 8) + 4;
  const middle = HEIGHT / 2;
  return html`<svg class=${`range ${verdict(found)}`} width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${label}>
    <line class="axis" x1="0" x2=${width} y1=${middle} y2=${middle} />
    <line class="zero" x1=${x(0)} x2=${x(0)} y1="1" y2=${HEIGHT - 1} />
    <line class="reach" x1=${x(found.low)} x2=${x(found.high)} y1=${middle} y2=${middle} />
    <circle cx=${x(found.estimate)} cy=${middle} r="3.5" /></svg>`;
}
