// Forecast for the open tasks: when they will be done and what they will cost. The daemon writes the sentences.

import {status} from './state.js';
import {html} from './ui.js';

/** The forecast in one line. The element is present even if it is empty, so that the page does not jump. */
export function Forecast() {
  const {forecast = '', forecast_range: range = ''} = status.data ?? {};
  const none = status.data ? 'No task is open.' : '';
  return html`<section class="forecast" aria-label="Forecast">
    <p>${forecast ? html`<b>Open:</b> ${forecast}` : none} <span class="hint">${range}</span></p></section>`;
}
