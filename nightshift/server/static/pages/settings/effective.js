// The effective settings as a text that can be read and copied.

import {Button, Dialog} from '../../app/parts.js';
import {html, useState} from '../../app/ui.js';

const said = (row) => (row.kind === 'secret' ? (row.is_set ? '***' : 'null') : JSON.stringify(row.value));

function text(rows) {
  const wide = Math.max(...rows.map((row) => row.name.length));
  return rows.map((row) => `${`${row.name}:`.padEnd(wide + 1)} ${said(row)}  # ${row.origin}`).join('\n');
}

export function Effective({rows}) {
  const [open, setOpen] = useState(false);
  return html`<${Button} onClick=${() => setOpen(true)}>Effective settings<//>
    <${Dialog} open=${open} title="Effective settings" wide onClose=${() => setOpen(false)}>
      <pre tabindex="0" aria-label="Effective settings">${text(rows)}</pre><//>`;
}
