// The bar that is shown while there are unsaved changes: their number, the lines that would be written, and buttons
// that save or undo them.

import {Button, Diff} from '../../app/parts.js';
import {counted} from '../../app/text.js';
import {html, useEffect, useState} from '../../app/ui.js';
import {drafted, outlook, refused, save, undoAll} from './model.js';

const row = (line) => ({kind: line[0] === '+' ? 'added' : 'gone', parts: line.slice(1)});

function useGuard(isOn) {
  useEffect(() => {
    if (!isOn) return undefined;
    const warn = (event) => event.preventDefault();
    const press = (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key !== 's') return;
      event.preventDefault();
      if (!Object.keys(outlook.peek().faults).length) save();
    };
    addEventListener('beforeunload', warn);
    addEventListener('keydown', press);
    return () => {
      removeEventListener('beforeunload', warn);
      removeEventListener('keydown', press);
    };
  }, [isOn]);
}

const Effect = ({changed, later}) => html`${changed.length ? html`At once: ${changed.join(', ')}. ` : null}
  ${later.length ? html`After a restart: ${later.map(({name}) => name).join(', ')}.` : null}`;

export function SaveBar() {
  const [open, setOpen] = useState(false);
  const names = drafted.value;
  useGuard(names.length > 0);
  if (!names.length) return null;
  const {diff, faults} = outlook.value;
  const wrong = Object.keys(faults).length;
  return html`<div class="savebar" role="region" aria-label="Unsaved changes">
    ${open && diff.length ? html`<${Diff} rows=${diff.map(row)} label="Lines of settings.overrides.yaml that change" />` : null}
    ${refused.value ? html`<p class="error" role="alert">${refused.value}</p>` : null}
    <div class="end"><p><b>${counted(names.length, 'unsaved change')}</b>
        ${' '}<span class="hint">${wrong ? `${counted(wrong, 'field')} to correct: ${Object.keys(faults).join(', ')}` : html`<${Effect} ...${outlook.value} />`}</span></p>
      <div class="actions">
        <${Button} kind="quiet" onClick=${() => setOpen(!open)} aria-expanded=${String(open)}>${open ? 'Hide lines' : 'Show lines'}<//>
        <${Button} onClick=${undoAll}>Undo all<//>
        <${Button} sends kind="main" disabled=${wrong > 0} onClick=${save}>Save<//>
      </div></div>
  </div>`;
}
