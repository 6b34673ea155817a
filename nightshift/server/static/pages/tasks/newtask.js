// The form for a new task. Input that was not sent is stored for the tab, so that a reload of the page loses nothing.

import {post} from '../../app/api.js';
import {forNow} from '../../app/kept.js';
import {Button, Card, Field} from '../../app/parts.js';
import {status, toast, useFocusKey} from '../../app/shell.js';
import {html, useRef, useSignal} from '../../app/ui.js';
import {Extras, LIMITS, SWITCHES} from './extras.js';

const KEPT = 'new-task';
const BLANK = {description: '', kind: '', priority: '1', repo: '', testsPath: 'tests/test_task.py', testsText: ''};
const KINDS = ['web_app', 'data_pipeline', 'cli_tool', 'library'];

function kept() {
  try {
    return {...BLANK, ...JSON.parse(forNow.recall(KEPT) ?? '{}')};
  } catch {
    return BLANK;
  }
}

const split = (text) => (text ?? '').split(/[\s,]+/).filter(Boolean);

/** Convert a text to a number if it is one. Otherwise return the text, so that the API reports the error. */
const number = (text) => (/^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text);

function limitsOf(form) {
  const given = LIMITS.filter(({name}) => form[name]).map(({name, scale = 1}) => {
    const value = number(form[name]);
    return [name, typeof value === 'number' ? value * scale : value];
  });
  return given.length ? {limits: Object.fromEntries(given)} : {};
}

/** Parse lines of the form `NAME=VALUE`. A line without `=` is a name with an empty value. */
const pairs = (text) => Object.fromEntries(text.split('\n').filter((line) => line.trim()).map((line) => {
  const [name, ...value] = line.split('=');
  return [name.trim(), value.join('=').trim()];
}));

/** Return what is wrong with the text of the field for cases; empty if the text is valid or blank. */
export function faultOfCases(text) {
  if (!text?.trim()) return '';
  try {
    return Array.isArray(JSON.parse(text)) ? '' : 'must be a list in JSON, in square brackets';
  } catch (error) {
    return `is no JSON: ${error.message}`;
  }
}

/** Return the input of the form as the body of `POST /api/task`. Empty fields are left out, so that defaults apply. */
export function taskOf(form) {
  const task = {description: form.description, ...limitsOf(form)};
  for (const name of ['kind', 'repo', 'base', 'project', 'language', 'key']) if (form[name]?.trim()) task[name] = form[name].trim();
  if (form.priority.trim()) task.priority = number(form.priority);
  if (form.testsText.trim()) task.tests = {[form.testsPath.trim()]: form.testsText};
  if (form.command?.trim()) task.test_command = form.command.trim();
  if (form.after?.trim()) task.depends_on = split(form.after).map((each) => number(each.replace(/^#/, '')));
  if (form.packages?.trim()) task.packages = split(form.packages);
  if (Object.keys(form.files ?? {}).length) task.files = form.files;
  if (form.cases?.trim()) task.cases = JSON.parse(form.cases);
  if (form.metadata?.trim()) task.metadata = pairs(form.metadata);
  if (form.notBefore) task.not_before = new Date(form.notBefore).toISOString();
  for (const {name} of SWITCHES) if (form[name]) task[name] = form[name] === 'yes';
  return task;
}

/** Return the API's errors by field of the form. Errors that belong to no field are under the empty name. */
function byField(data) {
  const found = {'': []};
  const of = {depends_on: 'after', test_command: 'command', tests: 'testsText', not_before: 'notBefore'};
  for (const [name, why] of Object.entries(data.fields ?? {})) {
    const [first, second] = name.split('.');
    const field = first === 'limits' && second ? second : of[first] ?? first;
    found[field] = found[field] ? `${found[field]}; ${why}` : why;
  }
  const known = new Set([...Object.keys(BLANK), 'base', 'project', 'language', 'key', 'after', 'command', 'packages', 'notBefore', 'files', 'cases', 'metadata',
    ...LIMITS.map(({name}) => name), ...SWITCHES.map(({name}) => name)]);
  const rest = Object.entries(found).filter(([name]) => name && !known.has(name)).map(([name, why]) => `${name}: ${why}`);
  if (data.more) rest.push(`and ${data.more} more`);
  found[''] = rest.join('; ') || (Object.keys(data.fields ?? {}).length ? '' : data.error);
  return found;
}

function useForm() {
  const form = useSignal(kept());
  const errors = useSignal({});
  const change = (name) => (event) => {
    form.value = {...form.peek(), [name]: event.target.value};
    forNow.keep(KEPT, JSON.stringify(form.peek()));
  };
  const set = (name, value) => change(name)({target: {value}});
  const send = async () => {
    const wrong = faultOfCases(form.peek().cases);
    if (wrong) {
      errors.value = {cases: wrong};
      return {ok: false};
    }
    const answer = await post('/api/task', taskOf(form.peek()));
    errors.value = answer.ok ? {} : byField(answer.data);
    if (!answer.ok) return answer;
    form.value = {...form.peek(), description: '', testsText: '', key: '', files: {}, cases: ''};
    forNow.keep(KEPT, JSON.stringify(form.peek()));
    const id = answer.data.task_id;
    toast(html`Added as <a href=${`/task/${id}`}>task ${id}</a>, ${answer.data.status}.`, 'good');
    status.reload();
    return answer;
  };
  return {form, errors, change, set, send};
}

export function NewTask() {
  const {form, errors, change, set, send} = useForm();
  const box = useRef(null);
  useFocusKey('n', 'describe a new task', '#new-description');
  const submit = async (event) => {
    event?.preventDefault();
    const answer = await send();
    if (!answer.ok) requestAnimationFrame(() => box.current.querySelector('[aria-invalid]')?.focus());
  };
  const hurry = (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit(event);
  const text = (name) => ({value: form.value[name] ?? '', error: errors.value[name], onInput: change(name), id: `new-${name}`});
  return html`<${Card} title="New task" id="new">
    <form ref=${box} onSubmit=${submit} novalidate>
      ${errors.value[''] ? html`<p class="error" role="alert">${errors.value['']}</p>` : null}
      <${Field} as="textarea" rows="3" label="What should be built or changed?" ...${text('description')} onKeyDown=${hurry}
        placeholder="Create a FastAPI health check endpoint" />
      <div class="row">
        <${Field} as="select" label="Kind" ...${text('kind')} onChange=${change('kind')}>
          <option value="">any</option>
          ${KINDS.map((kind) => html`<option value=${kind}>${kind.replace('_', ' ')}</option>`)}
        <//>
        <${Field} label="Priority" type="text" inputmode="numeric" ...${text('priority')} />
      </div>
      <${Field} label="Repository" hint="a folder; empty: the daemon's own workspace" autocomplete="off"
        spellcheck="false" placeholder="/home/me/project" ...${text('repo')} />
      <${Extras} text=${text} change=${change} files=${form.value.files ?? {}} setFiles=${(files) => set('files', files)} errors=${errors.value} />
      <div class="end"><span class="hint">Ctrl+Enter sends</span><${Button} sends kind="main" type="submit">Add task<//></div>
    </form>
  <//>`;
}
