// The time as signals, so that what is shown relative to now goes on by itself. Nothing ticks in a hidden tab.

import {signal} from './ui.js';

/** Milliseconds now, each second. */
export const second = signal(Date.now());

/** Milliseconds now, each quarter of a minute. */
export const quarter = signal(Date.now());

function tick() {
  if (document.hidden) return;
  second.value = Date.now();
  if (second.value - quarter.value >= 15_000) quarter.value = second.value;
}

/** Begin to tick; the shell does it once. */
export function startClock() {
  setInterval(tick, 1000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) quarter.value = second.value = Date.now();
  });
}
