// One setting: its description, the source of its value, its control, and the error in its draft if there is one.

import {Button, Pill, Prose} from '../../app/parts.js';
import {classes, html} from '../../app/ui.js';
import {Control, GROUPS} from './controls.js';
import {REMOVE, drafts, edit, isSet, outlook, saved, undo} from './model.js';
import {bounds, brief} from './values.js';

const ORIGINS = {
  'config.yaml': ['checkpoint', 'it is set in config.yaml'],
  page: ['checkpoint', 'it was set on this page, which overrides config.yaml'],
  '.env': ['warn', 'the file .env sets it'],
  environment: ['warn', 'an environment variable of the daemon sets it'],
};

const Badges = ({row}) => html`<span class="badges">
  ${ORIGINS[row.origin] ? html`<${Pill} status=${ORIGINS[row.origin][0]} title=${ORIGINS[row.origin][1]}>${row.origin}<//>` : null}
  ${row.takes === 'restart' ? html`<${Pill} status="quiet" title="a change takes effect after a restart of the daemon">restart<//>` : null}
  ${row.name in drafts.value ? html`<${Pill} status="running">unsaved<//>` : null}</span>`;

/** Return why the setting cannot be changed on this page; empty if it can be changed. */
const locked = (row) => (row.by_hand ? `It can only be changed in config.yaml, because ${row.by_hand}.` : row.fixed && `${row.fixed[0].toUpperCase()}${row.fixed.slice(1)}.`);

function Foot({row}) {
  const draft = row.name in drafts.value;
  const facts = [row.kind === 'secret' ? '' : `default ${brief(row, row.default)}`, bounds(row)].filter(Boolean).join(' · ');
  return html`<p class="foot hint">${facts}
    ${draft ? html` <${Button} kind="bare" onClick=${() => undo(row.name)} aria-label=${`Undo ${row.name}`}>undo<//>` : null}
    ${!draft && isSet(row) ? html` <${Button} kind="bare" onClick=${() => edit(row, null)}
      aria-label=${row.kind === 'secret' ? `Remove ${row.name}` : `Default for ${row.name}`}>${row.kind === 'secret' ? 'remove' : 'use default'}<//>` : null}
    ${row.in_file ? html` <span>config.yaml says ${row.in_file}</span>` : null}
    ${!draft && row.in_file ? html` <${Button} kind="bare" onClick=${() => edit(row, REMOVE)} aria-label=${`Remove ${row.name}`}>remove<//>` : null}</p>`;
}

function outlookOf(row, draft) {
  if (draft === REMOVE) return 'config.yaml will apply again';
  return draft === null ? (row.kind === 'secret' ? 'will be removed' : 'the default will apply') : '';
}

function Editable({row}) {
  const then = outlookOf(row, drafts.value[row.name]);
  const error = outlook.value.faults[row.name];
  const about = [`t-${row.name}`, error && `e-${row.name}`].filter(Boolean).join(' ');
  const tied = {id: `c-${row.name}`, 'aria-describedby': about, 'aria-invalid': error ? 'true' : undefined};
  return html`<${Control} row=${row} tied=${tied} />
    ${then ? html`<p class="foot hint">${then}</p>` : null}
    ${error ? html`<p class="error" id=${`e-${row.name}`} role="alert">${error}</p>` : null}
    <${Foot} row=${row} />`;
}

const Locked = ({row, why}) => html`<p class="held" id=${`c-${row.name}`}>${brief(row, saved(row))}</p><p class="foot hint">${why}</p>`;

export function Row({row}) {
  const why = locked(row);
  const name = row.name;
  const label = why || GROUPS.has(row.kind)
    ? html`<span class="name" id=${`l-${name}`}>${name}</span>`
    : html`<label class="name" for=${`c-${name}`} id=${`l-${name}`}>${name}</label>`;
  return html`<div class=${classes('setting', {drafted: name in drafts.value})} data-setting=${name}>
    <div class="about">${label}<${Badges} row=${row} /><p class="hint" id=${`t-${name}`}><${Prose} text=${row.text} /></p>
      ${row.waits ? html`<p class="waits">In use until a restart: ${brief(row, row.value)}.</p>` : null}</div>
    <div class="control">${why ? html`<${Locked} row=${row} why=${why} />` : html`<${Editable} row=${row} />`}</div>
  </div>`;
}
