// Exports lessons to a file, and imports lessons from a file.

import {fault, post} from '../../app/api.js';
import {Dialog} from '../../app/parts.js';
import {toast} from '../../app/shell.js';
import {counted, typed} from '../../app/text.js';
import {html, useRef, useState} from '../../app/ui.js';

const MOST_BYTES = 20_000_000;

/** The buttons for export and import. @param {{reload: () => Promise<void>}} props */
export function Carry({reload}) {
  const input = useRef(null);
  const [why, setWhy] = useState('');
  const take = async () => {
    const [file] = input.current.files;
    input.current.value = '';
    if (!file) return;
    if (file.size > MOST_BYTES) {
      setWhy(`${file.name} is larger than 20 MB; import it on the command line: ${typed(`memory import ${file.name}`)}`);
      return;
    }
    const answer = await post('/api/lessons/import', {lines: await file.text()});
    if (!answer.ok) {
      setWhy(fault(answer));
      return;
    }
    toast(`${counted(answer.data.new, 'new lesson')}; ${answer.data.known} known before.`, 'good');
    await reload();
  };
  return html`<a class="button" role="button" href="/api/lessons/export" download title="every lesson in use as JSON Lines, secrets masked">Export</a>
    <button type="button" onClick=${() => input.current.click()} title="lessons as JSON Lines; known ones are not imported twice">Import…</button>
    <input type="file" hidden aria-label="A file of lessons" accept=".jsonl,.ndjson,application/x-ndjson" ref=${input} onChange=${take} />
    <${Dialog} open=${Boolean(why)} title="Nothing was imported" onClose=${() => setWhy('')}>
      <pre class="wrap">${why}</pre><p class="hint">A file is imported whole or not at all; each line is one lesson as Export writes it.</p><//>`;
}
