// The form controls of settings, one for each kind of value.

import {Button} from '../../app/parts.js';
import {html} from '../../app/ui.js';
import {edit, shown} from './model.js';

const heard = (row) => (event) => edit(row, event.target.value);

const Line = ({row, tied, ...rest}) => html`<input type="text" spellcheck="false" autocomplete="off" ...${tied} ...${rest}
  value=${shown(row)} placeholder=${row.veiled ? 'a part of it is hidden: type it again' : row.optional ? 'unset' : ''}
  onInput=${heard(row)} />`;

const Amount = ({row, tied}) => html`<span class="amount"><${Line} row=${row} tied=${tied} inputmode="decimal" />
  ${row.unit ? html`<span class="unit">${row.unit}</span>` : null}</span>`;

const Switch = ({row, tied}) => html`<input type="checkbox" role="switch" ...${tied} checked=${shown(row)}
  onChange=${(event) => edit(row, event.target.checked)} />`;

const Choice = ({row, tied}) => html`<select ...${tied} onChange=${heard(row)}>
  ${row.choices.map((each) => html`<option key=${each} value=${each} selected=${each === shown(row)}>${each}</option>`)}</select>`;

function Choices({row}) {
  const chosen = shown(row);
  const turn = (each) => (event) => edit(row, row.choices.filter((one) => (one === each ? event.target.checked : chosen.includes(one))));
  return html`<div class="choices" role="group" aria-labelledby=${`l-${row.name}`} aria-describedby=${`t-${row.name}`}>
    ${row.choices.map((each) => html`<label class="check" key=${each}><input type="checkbox" checked=${chosen.includes(each)}
      onChange=${turn(each)} /> ${each.replace('_', ' ')}</label>`)}</div>`;
}

const List = ({row, tied}) => html`<textarea class="code" spellcheck="false" rows=${Math.max(2, shown(row).split('\n').length)}
  placeholder="one per line" ...${tied} value=${shown(row)} onInput=${heard(row)}></textarea>`;

const Secret = ({row, tied}) => html`<input type="password" autocomplete="new-password" spellcheck="false" ...${tied}
  value=${shown(row) ?? ''} placeholder=${row.is_set ? 'set; type to replace it' : 'not set'} onInput=${heard(row)} />`;

/**
 * A control for a setting that maps names to values. Each line has a field for the name, followed by the fields in
 * `parts`, which are pairs of a field's key and its label. `named` is the label of the field for the name.
 */
function Rows({row, parts, named}) {
  const all = shown(row);
  const put = (at, more) => edit(row, all.map((each, index) => (index === at ? {...each, ...more} : each)));
  const cell = (at, part, what) => html`<input type="text" spellcheck="false" autocomplete="off" aria-label=${`${what}, line ${at + 1}`}
    placeholder=${what} value=${all[at][part]} onInput=${(event) => put(at, {[part]: event.target.value})} />`;
  const blank = Object.fromEntries([['key', ''], ...parts.map(([part]) => [part, ''])]);
  return html`<div class="rows" role="group" aria-labelledby=${`l-${row.name}`} aria-describedby=${`t-${row.name}`}>
    ${all.map((_, at) => html`<div class="pair" key=${at}>${cell(at, 'key', named)}
      ${parts.map(([part, what]) => cell(at, part, what))}
      <${Button} kind="bare" aria-label=${`Remove line ${at + 1}`} onClick=${() => edit(row, all.toSpliced(at, 1))}>×<//></div>`)}
    <${Button} kind="quiet" onClick=${() => edit(row, [...all, blank])}>Add<//></div>`;
}

const Mapping = ({row}) => html`<${Rows} row=${row} named=${row.name === 'phase_models' ? 'phase' : 'name'}
  parts=${[['value', row.name === 'phase_models' ? 'model' : 'value']]} />`;

const Prices = ({row}) => html`<${Rows} row=${row} named="model" parts=${[['input', 'in, $ per million'], ['output', 'out, $ per million']]} />`;

const KINDS = {
  switch: Switch, 'whole number': Amount, number: Amount, text: Line, secret: Secret, choice: Choice, choices: Choices,
  list: List, mapping: Mapping, prices: Prices,
};

/** Kinds of settings whose control consists of several fields, so that no `label` element can refer to it. */
export const GROUPS = new Set(['choices', 'mapping', 'prices']);

export const Control = ({row, tied}) => html`<${KINDS[row.kind]} row=${row} tied=${tied} />`;
