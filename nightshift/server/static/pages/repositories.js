// The page of repositories: the effective settings of each with their sources, a form that changes them, and the
// environments that were built for repositories.

import {fault, patch, useData} from '../app/api.js';
import {Button, Card, Empty, Fault, Loaded, Moment, Pill} from '../app/parts.js';
import {MOVED, Push, nameOf, standing} from '../app/repository.js';
import {mount, toast} from '../app/shell.js';
import {Table} from '../app/table.js';
import {firstLine, typed} from '../app/text.js';
import {html, signal, useState} from '../app/ui.js';
import {Environments} from './repositories/environments.js';
import {NONE, read, spelled} from './repositories/values.js';

const chosen = signal(new URLSearchParams(location.search).get('repo') ?? '');

function choose(repo) {
  chosen.value = repo;
  history.replaceState(null, '', repo ? `?repo=${encodeURIComponent(repo)}` : location.pathname);
}

const SOURCES = {kept: ['checkpoint', 'set here'], found: ['running', ''], settings: ['quiet', 'settings'], none: ['quiet', '']};

function From({option}) {
  const [status, name] = SOURCES[option.source];
  const text = name || (option.source === 'found' ? option.place : '');
  return text ? html`<${Pill} status=${status} title=${option.place}>${text}<//>` : null;
}

/** The value that the daemon found in the repository's files. It is shown only if another value overrides it. */
function Otherwise({option}) {
  const used = option.source === 'found';
  if (option.found === null || used) return null;
  return html`<p class="hint">found: <code>${spelled(option.name, option.found)}</code> in ${option.place}</p>`;
}

function Option({option, draft, error, edit, remove}) {
  const {name} = option;
  const tied = {id: `o-${name}`, 'aria-describedby': [`h-${name}`, error && `e-${name}`].filter(Boolean).join(' '), 'aria-invalid': error ? 'true' : undefined};
  const shown = draft ?? (option.kept === null ? '' : spelled(name, option.kept));
  return html`<tr data-option=${name}>
    <th scope="row"><label for=${`o-${name}`}>${name}</label><p class="hint" id=${`h-${name}`}>${option.help}</p></th>
    <td>${option.by_hand
    ? html`<code id=${`o-${name}`}>${option.value === null ? NONE : spelled(name, option.value)}</code>
      <p class="hint">Set with <code>${typed('repo-settings')}</code>, because it decides which code is accepted.</p>`
    : html`<input type="text" spellcheck="false" autocomplete="off" ...${tied} value=${shown}
      placeholder=${option.value === null ? '' : spelled(name, option.value)} onInput=${(event) => edit(name, event.target.value)} />`}
      ${error ? html`<p class="error" id=${`e-${name}`} role="alert">${error}</p>` : null}<${Otherwise} option=${option} /></td>
    <td><${From} option=${option} />${option.kept !== null && !option.by_hand
    ? html` <${Button} sends kind="bare" aria-label=${`Remove ${name}`} onClick=${() => remove(name)}>remove<//>` : null}</td></tr>`;
}

function Options({data, keep}) {
  const [drafts, setDrafts] = useState({});
  const [faults, setFaults] = useState({});
  const send = async (changes) => {
    const answer = await patch('/api/repositories/settings', {repo: data.repo, changes});
    if (!answer.ok) {
      const named = Object.entries(answer.data.fields ?? {}).map(([name, why]) => [name.split('.')[0], why]);
      setFaults(Object.fromEntries(named));
      if (!named.length) toast(fault(answer), 'bad');
      return;
    }
    setFaults({});
    // Keep texts that the owner typed while the request was running.
    setDrafts((now) => Object.fromEntries(Object.entries(now).filter(([name, text]) => !(name in changes) || text !== drafts[name])));
    keep(answer.data);
  };
  const edit = (name, text) => setDrafts((now) => ({...now, [name]: text}));
  const save = () => send(Object.fromEntries(Object.entries(drafts).map(([name, text]) => [name, read(name, text)])));
  return html`<form onSubmit=${(event) => { event.preventDefault(); save(); }}>
    <table aria-label="Effective settings"><thead><tr><th scope="col">What</th><th scope="col">Value</th><th scope="col">From</th></tr></thead>
      <tbody>${data.options.map((option) => html`<${Option} key=${option.name} option=${option} draft=${drafts[option.name]}
        error=${faults[option.name]} edit=${edit} remove=${(name) => send({[name]: null})} />`)}</tbody></table>
    <div class="end"><p class="hint">An empty field removes a value. Changes also apply to waiting tasks.</p>
      <${Button} sends kind="main" type="button" disabled=${!Object.keys(drafts).length} onClick=${save}>Save<//></div></form>`;
}

const Commands = ({data}) => (data.commands.length ? html`<table aria-label="Commands">
  <thead><tr><th scope="col">For</th><th scope="col">Command</th><th scope="col">In</th></tr></thead>
  <tbody>${data.commands.map((each, at) => html`<tr key=${at}><td>${each.purpose}</td>
    <td><code>${spelled('test_command', each.words)}</code></td><td>${each.path}:${each.line}</td></tr>`)}</tbody></table>`
  : html`<${Empty}>Its files name no commands.<//>`);

/** The result of the test suite of one language before any change, including the number of tests that cannot run. */
function Check({check}) {
  const idle = Object.entries(check.idle);
  return html`<table aria-label=${`Tests in ${check.language}`}><tbody>
    <tr><th scope="row">Language</th><td>${check.language}</td></tr>
    <tr><th scope="row">Command</th><td><code>${spelled('test_command', check.command)}</code></td></tr>
    <tr><th scope="row">Environment</th><td>${check.environment.join(', ') || NONE}</td></tr>
    <tr><th scope="row">Tests</th><td>${check.collected ? `${check.collected} collected, ${check.passed} passed, ${check.failed} failed` : check.note || (check.command.length ? 'it ended with exit status 0' : 'there are none')}</td></tr>
    ${idle.map(([why, count]) => html`<tr key=${why}><th scope="row">Cannot run</th><td>${count}: ${why}</td></tr>`)}
    <tr><th scope="row">Checked</th><td><code>${check.commit.slice(0, 12)}</code> <${Moment} at=${check.at} /></td></tr>
    ${check.fault ? html`<tr><th scope="row">Nothing can be judged</th><td class="bad">${check.fault}</td></tr>` : null}</tbody></table>`;
}

const Checks = ({data}) => (data.checks.length ? data.checks.map((check) => html`<${Check} key=${check.language} check=${check} />`)
  : html`<${Empty}>Its first task runs it, or <code>${typed(`check ${data.repo}`)}</code>.<//>`);

function Repository({repo}) {
  const found = useData('/api/repositories/settings', {repo});
  return html`<${Loaded} of=${found}>${(data) => html`
    ${data.error ? html`<${Fault} error=${data.error} retry=${found.reload} />` : null}
    ${Object.entries(data.faults).map(([name, why]) => html`<${Fault} key=${name} error=${`${name} is left out: ${why}`} />`)}
    <${Card} title="Effective settings of its tasks" hint=${data.repo}><${Options} key=${data.repo} data=${data} keep=${found.keep} /><//>
    <${Card} title="Its suite before any change" hint="what can be judged"><div class="scroll"><${Checks} data=${data} /></div><//>
    <${Card} title="Commands that its files name" hint="read, not executed"><div class="scroll"><${Commands} data=${data} /></div><//>`}<//>`;
}

const address = (repo) => `/repositories?repo=${encodeURIComponent(repo)}`;

const Newest = ({commit}) => html`${commit.task_id
  ? html`<a href=${`/task/${commit.task_id}`}>${firstLine(commit.subject, 70)}</a>` : firstLine(commit.subject, 70)}
  <br /><small><${Moment} at=${commit.at} />, ${commit.author}</small>`;

const COLUMNS = [
  {key: 'repo', label: 'Repository', cell: (row) => html`<a href=${address(row.repo)}><b>${nameOf(row)}</b></a>
    <br /><small>${row.repo}</small>${row.error ? html`<br /><small class="bad">${row.error}</small>` : null}`},
  {key: 'branch', label: 'Branch', cell: (row) => (row.status?.branch ? html`<code>${row.status.branch}</code><br /><small>${standing(row)}</small>` : '')},
  {key: 'newest', label: 'Newest commit', minor: true, cell: ({status}) => status?.newest && html`<${Newest} commit=${status.newest} />`},
  {key: 'ours', label: 'Nightshift commits', number: true, minor: true, cell: (row) => row.ours?.commits ?? ''},
  {key: 'pushed_at', label: 'Pushed', minor: true, cell: (row) => row.status?.branch && html`<${Push} state=${row} />`},
];

function Another() {
  const [typed, setTyped] = useState('');
  return html`<form class="amount" onSubmit=${(event) => { event.preventDefault(); choose(typed.trim()); }}>
    <input type="text" aria-label="Another repository" placeholder="path of another repository" value=${typed}
      onInput=${(event) => setTyped(event.target.value)} /><${Button} type="submit" disabled=${!typed.trim()}>Show<//></form>`;
}

/** All known repositories. Those that tasks used have data from git; the others only have settings. */
function All() {
  const known = useData('/api/repositories', {}, MOVED);
  const found = useData('/api/git', {}, MOVED);
  const seen = Object.fromEntries((found.data?.repositories ?? []).map((each) => [each.repo, each]));
  return html`<${Card} title="Repositories" actions=${html`<${Another} />`}
    hint="Select one for its test command and settings">
    <${Loaded} of=${known}>${(data) => html`<${Table} label="Repositories" columns=${COLUMNS} keyOf=${(row) => row.repo}
      onOpen=${(row) => choose(row.repo)} rows=${data.repositories.map((repo) => seen[repo] ?? {repo})} />`}<//><//>`;
}

function Repositories() {
  if (!chosen.value) return html`<h1 class="unseen">Repositories</h1><${All} /><${Environments} />`;
  return html`<p><a href="/repositories">All repositories</a></p>
    <div class="bar"><h1>${nameOf({repo: chosen.value})}</h1></div>
    <${Repository} key=${chosen.value} repo=${chosen.value} />`;
}

mount(Repositories, {title: 'Repositories'});
