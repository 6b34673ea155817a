// The less common fields of the form for a new task: tests, start files, limits, order and switches.

import {Button, Field} from '../../app/parts.js';
import {counted, zone} from '../../app/text.js';
import {html} from '../../app/ui.js';

/** The limits that the form offers. `scale` converts the input to the unit of the API. */
export const LIMITS = [
  {name: 'iterations', label: 'Iterations', hint: 'at most'},
  {name: 'attempts', label: 'Attempts', hint: 'at most'},
  {name: 'wall_s', label: 'Minutes', hint: 'at most', scale: 60},
  {name: 'cost_usd', label: 'US dollars', hint: 'at most'},
  {name: 'tokens', label: 'Tokens', hint: 'at most'},
];

export const SWITCHES = [
  {name: 'review', label: 'Review', yes: 'a second look at the code', no: 'none'},
  {name: 'audit', label: 'Audit', yes: 'look for security faults', no: 'none'},
  {name: 'clarify', label: 'Ask back', yes: 'ask when unclear', no: 'assume'},
  {name: 'split', label: 'Split', yes: 'may become subtasks', no: 'one task'},
  {name: 'integrate', label: 'Integrate', yes: 'into the branch', no: 'leave the branch'},
];

/** A field for files that the task starts with. Each file keeps its name in the repository. */
function StartFiles({files, setFiles, error}) {
  const add = async ({target}) => {
    const read = await Promise.all([...target.files].map(async (file) => [file.webkitRelativePath || file.name, await file.text()]));
    setFiles({...files, ...Object.fromEntries(read)});
    target.value = '';
  };
  const without = (path) => () => setFiles(Object.fromEntries(Object.entries(files).filter(([name]) => name !== path)));
  return html`<${Field} label="Start files" type="file" multiple hint="added before it starts, each under its name" error=${error} onChange=${add} />
    ${Object.keys(files).length ? html`<ul class="plain start-files" aria-label="Start files">${Object.entries(files).map(([path, text]) => html`<li key=${path}>
      <code>${path}</code> <span class="hint">${counted(text.split('\n').length, 'line')}</span>
      <${Button} kind="bare small" aria-label=${`Leave out ${path}`} onClick=${without(path)}>×<//></li>`)}</ul>` : null}`;
}

const Given = ({text, files, setFiles, errors}) => html`<details open=${['files', 'cases', 'metadata'].some((name) => errors[name])}>
  <summary>Start files, cases, metadata</summary>
  <${StartFiles} files=${files} setFiles=${setFiles} error=${errors.files} />
  <${Field} as="textarea" rows="4" class="code" spellcheck="false" label="Cases" hint="a list in JSON: what a call must give, or raise"
    placeholder='[{"call": "shop.total", "args": [[1, 2]], "expect": 3}]' ...${text('cases')} />
  <${Field} as="textarea" rows="2" class="code" spellcheck="false" label="Metadata" hint="NAME=VALUE, one per line; kept with the task" placeholder="ticket=SHOP-12" ...${text('metadata')} />
</details>`;

const Tests = ({text, errors}) => html`<details open=${Boolean(errors.testsText || errors.command)}>
  <summary>Tests that must pass</summary>
  <p class="hint">Without them the agent writes its own.</p>
  <${Field} label="File" autocomplete="off" spellcheck="false" ...${text('testsPath')} />
  <${Field} as="textarea" rows="6" class="code" spellcheck="false" label="pytest code" ...${text('testsText')} />
  <${Field} label="Command" hint="instead of a test file; it judges the repository" autocomplete="off" spellcheck="false"
    placeholder="python -m pytest tests/unit" ...${text('command')} />
</details>`;

const Order = ({text, change}) => html`
  <div class="row">
    <${Field} label="After tasks" hint="ids; it starts when they are done" autocomplete="off" placeholder="12, 13" ...${text('after')} />
    <${Field} label="Not before" hint=${zone(Date.now())} type="datetime-local" ...${text('notBefore')} />
  </div>
  <div class="row">
    <${Field} label="Branch" hint="to start from" autocomplete="off" spellcheck="false" placeholder="main" ...${text('base')} />
    <${Field} label="Project" hint="in the workspace; empty: the plan chooses it" autocomplete="off" spellcheck="false" ...${text('project')} />
    <${Field} as="select" label="Language" ...${text('language')} onChange=${change('language')}>
      <option value="">as in the repository</option><option value="python">Python</option><option value="javascript">JavaScript, TypeScript</option><option value="go">Go</option>
    <//>
  </div>
  <${Field} label="Packages" hint="that it may install without asking" autocomplete="off" spellcheck="false" placeholder="httpx, rich" ...${text('packages')} />
  <${Field} label="Key" hint="the same key is never added twice" autocomplete="off" spellcheck="false" ...${text('key')} />`;

const More = ({text, change, errors}) => {
  const isWrong = [...LIMITS, ...SWITCHES].some(({name}) => errors[name])
    || ['after', 'notBefore', 'base', 'project', 'language', 'packages', 'key'].some((name) => errors[name]);
  return html`<details open=${isWrong}>
    <summary>Limits, order, switches</summary>
    <p class="hint">Empty fields use the settings.</p>
    <div class="row">${LIMITS.map(({name, label, hint}) => html`
      <${Field} key=${name} label=${label} inputmode="decimal" placeholder=${hint} ...${text(name)} />`)}</div>
    <${Order} text=${text} change=${change} />
    <div class="row">${SWITCHES.map(({name, label, yes, no}) => html`
      <${Field} key=${name} as="select" label=${label} ...${text(name)} onChange=${change(name)}>
        <option value="">as set</option><option value="yes">yes: ${yes}</option><option value="no">no: ${no}</option>
      <//>`)}</div>
  </details>`;
};

export const Extras = (props) => html`<${Tests} ...${props} /><${Given} ...${props} /><${More} ...${props} />`;
