// The current time as signals, so that relative times are updated automatically. They do not change in a hidden tab.

import {signal} from './ui.js';

/** Current time in milliseconds, updated every second. */
export const second = signal(Date.now());

/** Current time in milliseconds, updated every 15 seconds. */
export const quarter = signal(Date.now());

function tick() {
  if (document.hidden) return;
  second.value = Date.now();
  if (second.value - quarter.value >= 15_000) quarter.value = second.value;
}

/** Start the clock. The shell calls this once. */
export function startClock() {
  setInterval(tick, 1000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) quarter.value = second.value = Date.now();
  });
}
