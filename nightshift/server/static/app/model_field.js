// A form field that selects one of the configured models.

import {Field} from './parts.js';
import {status} from './shell.js';
import {html} from './ui.js';

const label = (model) => (model.model ? `${model.name}=${model.model}` : model.name);

/**
 * @param {{value: string, onChange: (event: Event) => void, hint?: string}} props an empty `value` means that the
 * settings choose the model
 */
export const ModelField = ({value, onChange, hint}) => html`<${Field} as="select" label="Model" value=${value} onChange=${onChange} hint=${hint}>
  <option value="">as in the settings</option>
  ${(status.data?.models ?? []).map((model) => html`<option value=${label(model)}>${label(model)}${model.available ? '' : ' (not available now)'}</option>`)}<//>`;
