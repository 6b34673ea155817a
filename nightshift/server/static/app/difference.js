// Diffs of files, unified or side by side. Files whose diff was too long for the answer are requested one by one.

import {address, fault, get, useData} from './api.js';
import {Button, Diff, Empty, Fault, Loaded, Pill} from './parts.js';
import {useKeys} from './keys.js';
import {counted} from './text.js';
import {html, signal, useMemo, useState} from './ui.js';
import {Lines} from './copy.js';

const KEPT = 'diff-mode';
const OPEN_LINES = 600;
/** View of all diffs, `unified` or `split`. It is stored in the browser. */
export const mode = signal(localStorage.getItem(KEPT) === 'split' ? 'split' : 'unified');

function change(next) {
  mode.value = next;
  localStorage.setItem(KEPT, next);
}

/**
 * Return rows about the small faults (mutations) that were tried in a hunk. The first row says how many of them the
 * tests noticed, and one more row describes each that no test noticed. Empty if none was tried in the hunk.
 */
function noticed(hunk, mutants) {
  const lines = new Set(hunk.lines.map((line) => line.new));
  const tried = mutants.filter(({line}) => lines.has(line));
  if (!tried.length) return [];
  const missed = tried.filter((one) => !one.noticed);
  const by = [...new Set(tried.map((one) => one.by.replace(/^.*?::/, '')).filter(Boolean))];
  const text = `The tests noticed ${tried.length - missed.length} of ${counted(tried.length, 'small fault')} in these lines${by.length ? ` (${by.join(', ')})` : ''}${missed.length ? '. No test notices when:' : ''}`;
  return [{kind: 'place', tone: missed.length ? 'warn' : 'good', parts: text}, ...missed.map(({what}) => ({kind: 'place', tone: 'warn', parts: what}))];
}

/**
 * Return the rows of a diff. A hunk that does not start at line 1 has a heading. The rows of `noticed` follow the lines
 * of each hunk, and describe the mutations in these lines.
 */
export function rowsOf(hunks, mutants = []) {
  return hunks.flatMap((hunk, index) => [
    ...(index || hunk.old > 1 || hunk.new > 1 ? [{kind: 'place', parts: `line ${hunk.new}`}] : []), ...hunk.lines, ...noticed(hunk, mutants)]);
}

const Mode = () => html`<span class="modes" role="group" aria-label="How the diff is shown">
  ${[['unified', 'Unified'], ['split', 'Side by side']].map(([name, title]) => html`<button type="button" class="bare small"
    aria-pressed=${String(mode.value === name)} onClick=${() => change(name)}>${title}</button>`)}</span>`;

const STATUS = {added: 'ok', removed: 'failed', changed: ''};

function File({file, path, open}) {
  const [alone, setAlone] = useState(null);
  const [error, setError] = useState('');
  const shown = alone ?? file;
  const rows = useMemo(() => rowsOf(shown.hunks, shown.mutants), [shown]);
  const load = async () => {
    const answer = await get(address(path, {path: file.path}));
    if (!answer.ok) return setError(fault(answer));
    return setAlone(answer.data.files[0] ?? file);
  };
  const canLoad = !alone && shown.told.startsWith('ask for');
  return html`<details class="file" open=${open}>
    <summary><code>${shown.path}</code> <${Pill} status=${STATUS[shown.status]}>${shown.status}<//>
      ${shown.test ? html` <span class="flag">the agent's test</span>` : null}
      ${shown.added === null ? null : html` <${Lines} added=${shown.added} removed=${shown.removed} />`}</summary>
    ${error ? html`<${Fault} error=${error} retry=${load} />` : null}
    ${shown.told ? html`<p class="hint">${canLoad ? '' : shown.told}${canLoad ? html`<${Button} kind="small" onClick=${load}>Show this file<//>` : null}</p>` : null}
    ${rows.length ? html`<${Diff} rows=${rows} split=${mode.value === 'split'} label=${`Changes of ${shown.path}`} />` : null}
  </details>`;
}

/**
 * Return for each file whether it is open at first. The first files are open, as long as they have at most `OPEN_LINES`
 * lines together.
 */
function opened(files) {
  let lines = 0;
  return files.map((file) => {
    lines += file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
    return lines <= OPEN_LINES;
  });
}

/** The diff at an address of the API. @param {{path: string}} props the address */
export function Change({path}) {
  useKeys({d: ['unified or side by side', () => change(mode.peek() === 'split' ? 'unified' : 'split')]});
  const found = useData(path);
  return html`<${Loaded} of=${found}>${(diff) => html`<${Files} diff=${diff} path=${path} />`}<//>`;
}

function Files({diff, path}) {
  const open = useMemo(() => opened(diff.files), [diff]);
  const [added, removed] = ['added', 'removed'].map((name) => diff.files.reduce((sum, file) => sum + (file[name] ?? 0), 0));
  if (!diff.files.length && diff.note) return html`<${Empty}>${diff.note}<//>`;
  return html`<div class="diff-head"><span>${counted(diff.files.length + diff.left_out, 'file')}, <${Lines} added=${added} removed=${removed} />
      ${' '}<span class="hint">${diff.after}, against ${diff.before}</span></span><${Mode} /></div>
    ${diff.note ? html`<p class="notice">${diff.note}</p>` : null}
    ${diff.files.length ? null : html`<${Empty}>No differences.<//>`}
    ${diff.files.map((file, index) => html`<${File} key=${file.path} file=${file} path=${path} open=${open[index]} />`)}
    ${diff.left_out ? html`<p class="hint">${counted(diff.left_out, 'more file')} not listed</p>` : null}`;
}
