// What is to be expected of the open tasks: until when they are done and what that costs, as the daemon says it.

import {status} from './state.js';
import {html} from './ui.js';

/** One line, with its range below; it keeps its place while there is nothing to say, so that nothing jumps. */
export function Forecast() {
  const {forecast = '', forecast_range: range = ''} = status.data ?? {};
  const none = status.data ? 'No task is open.' : '';
  return html`<section class="forecast" aria-label="Forecast">
    <p>${forecast ? html`<b>Open:</b> ${forecast}` : none} <span class="hint">${range}</span></p></section>`;
}
