// The time as signals, so that relative times update automatically. Nothing ticks in a hidden tab.

import {signal} from './ui.js';

/** Current time in milliseconds, updated each second. */
export const second = signal(Date.now());

/** Current time in milliseconds, updated every 15 seconds. */
export const quarter = signal(Date.now());

function tick() {
  if (document.hidden) return;
  second.value = Date.now();
  if (second.value - quarter.value >= 15_000) quarter.value = second.value;
}

/** Start to tick; called once, by the shell. */
export function startClock() {
  setInterval(tick, 1000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) quarter.value = second.value = Date.now();
  });
}
