// Files as they were after a step, or as they were submitted with the task.

import {address, useData} from '../../app/api.js';
import {Code, Loaded} from '../../app/parts.js';
import {counted} from '../../app/text.js';
import {classes, html, useState} from '../../app/ui.js';

/** The text of a file, highlighted by the server. */
export function Text({path}) {
  const found = useData(path);
  return html`<${Loaded} of=${found}>${(file) => (file.told ? html`<p class="hint">${file.told}</p>`
    : html`<${Code} lines=${file.lines.at(-1)?.length ? file.lines : file.lines.slice(0, -1)} label=${file.path} />`)}<//>`;
}

/** A list of files. The file that is chosen is shown beside the list. */
export function Browser({files, addressOf}) {
  const [chosen, setChosen] = useState(files.find((file) => file.here)?.path ?? files[0].path);
  return html`<div class="browser"><ul class="plain">${files.map((file) => html`<li key=${file.path}>
      <button type="button" class=${classes('bare', 'path', {here: file.path === chosen})} aria-pressed=${String(file.path === chosen)}
        disabled=${file.status === 'removed'} onClick=${() => setChosen(file.path)}>${file.path}</button>
      <span class="hint">${file.status === 'removed' ? 'removed' : counted(file.chars, 'character')}${file.test ? ', a test' : ''}${file.here ? ', written here' : ''}</span></li>`)}</ul>
    <div><${Text} key=${chosen} path=${addressOf(chosen)} /></div></div>`;
}

export const Files = ({task, detail}) => html`<${Browser} files=${detail.files} addressOf=${(path) => (
  address(`/api/task/${task.task_id}/file`, {path, attempt: detail.attempt, step: detail.step_no}))} />`;
