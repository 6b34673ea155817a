// What models are worth on a repository's own history: the report with its plot, runs with their progress, and items.

import {fault, post, useData} from '../app/api.js';
import {Copy, quoted} from '../app/copy.js';
import {Button, Card, Empty, Field, Loaded, Meter, Moment, Money, Pill} from '../app/parts.js';
import {mount, toast} from '../app/shell.js';
import {Table} from '../app/table.js';
import {html, useEffect, useState} from '../app/ui.js';
import {Elements} from './report/elements.js';

const LOOK_MS = 3000;
const STATUS = {running: 'running', done: 'done', stopped: 'waiting', broken: 'failed'};
const GIVEN = {shown: 'tests shown', words: 'tests held out'};
const shortOf = (repo) => repo.replace(/\/+$/, '').split('/').pop();

async function act(path, body, after) {
  const answer = await post(path, body);
  if (!answer.ok) return fault(answer);
  await after();
  return '';
}

function Start({data, reload}) {
  const [models, setModels] = useState('');
  const [items, setItems] = useState('');
  const [budget, setBudget] = useState('');
  const [mode, setMode] = useState(data.mode);
  const [error, setError] = useState('');
  const start = async (event) => {
    event?.preventDefault();
    const named = models.split(',').map((name) => name.trim()).filter(Boolean);
    const body = {repo: data.repo, models: named, mode, items: items ? Number(items) : null, budget_usd: budget ? Number(budget) : null};
    setError(await act('/api/benchmark/runs', body, reload));
  };
  return html`<form class="begin" onSubmit=${start}>
    <${Field} label="Models" hint="commas between them" placeholder="openai=gpt-5-mini, built-in" required error=${error} value=${models}
      onInput=${(event) => { setModels(event.target.value); setError(''); }} />
    <${Field} label="Given" as="select" value=${mode} onChange=${(event) => setMode(event.target.value)}>
      ${Object.entries(GIVEN).map(([name, said]) => html`<option key=${name} value=${name}>${said}</option>`)}<//>
    <${Field} label="Items" hint="empty: all" type="number" min="1" value=${items} onInput=${(event) => setItems(event.target.value)} />
    <${Field} label="Budget, USD" hint="empty: none" type="number" min="0.01" step="any" value=${budget} onInput=${(event) => setBudget(event.target.value)} />
    <${Button} sends kind="main" disabled=${data.is_running || !models.trim()} onClick=${start}>Start a run<//>
  </form>`;
}

function Runs({data, reload}) {
  const send = async (run, what) => {
    const error = await act(`/api/benchmark/runs/${run.key}/${what}`, undefined, reload);
    if (error) toast(error, 'bad');
  };
  const columns = [
    {key: 'arms', label: 'Arms', cell: (run) => html`<b>${run.arms.join(', ')}</b>${run.reason ? html`<br /><small>${run.reason}</small>` : null}`},
    {key: 'state', label: 'State', cell: (run) => html`<${Pill} status=${STATUS[run.state]}>${run.state === 'broken' ? 'broken off' : run.state}<//>`},
    {key: 'act', label: 'Steer', cell: (run) => (run.state === 'running'
      ? html`<${Button} sends kind="small" onClick=${() => send(run, 'stop')}>Stop<//>`
      : run.state === 'done' ? null : html`<${Button} sends kind="small" disabled=${data.is_running} onClick=${() => send(run, 'resume')}>Resume<//>`)},
    {key: 'done', label: 'Attempts', cell: (run) => html`<span class="progress"><${Meter} value=${run.done} most=${run.total} low=${2} high=${2} label=${`Attempts of ${run.arms.join(', ')}`} /> ${run.done} of ${run.total}</span>`},
    {key: 'cost_usd', label: 'USD', number: true, cell: (run) => html`<${Money} usd=${run.cost_usd} />`},
    {key: 'mode', label: 'Given', minor: true, cell: (run) => `${GIVEN[run.mode]}${run.rounds > 1 ? `, ${run.rounds} rounds` : ''}`},
    {key: 'changed_at', label: 'Since', minor: true, cell: (run) => html`<${Moment} at=${run.changed_at} />`},
  ];
  return html`<${Table} rows=${data.runs} columns=${columns} keyOf=${(run) => run.key} label="Runs" served walk=${false} />`;
}

const Outcome = ({of}) => html`<li class=${of.solved ? 'good' : 'bad'} title=${`${of.outcome}, ${of.iterations} iterations, ${Math.round(of.seconds)} s`}>
  <b>${of.arm}</b> ${of.solved ? 'solved' : 'not solved'}</li>`;

function Items({data}) {
  const columns = [
    {key: 'subject', label: 'Commit', cell: (row) => html`${row.subject}<br /><small><code>${row.commit.slice(0, 10)}</code>
      <${Copy} text=${`git -C ${quoted(data.repo)} show ${row.commit}`} what=${`the command that shows ${row.commit.slice(0, 10)}`} /></small>`},
    {key: 'outcomes', label: 'Arms', cell: (row) => (row.outcomes.length
      ? html`<ul class="outcomes">${row.outcomes.map((one) => html`<${Outcome} key=${one.arm} of=${one} />`)}</ul>` : html`<span class="none">–</span>`)},
    {key: 'lines', label: 'Lines', number: true, minor: true, most: true},
    {key: 'tests', label: 'Tests', number: true, minor: true, most: true},
    {key: 'committed_at', label: 'Committed', minor: true, most: true, cell: (row) => html`<${Moment} at=${row.committed_at} form="day" />`},
  ];
  return html`<${Table} rows=${data.items} columns=${columns} keyOf=${(row) => row.commit} label="Items" />`;
}

const Pick = ({data, onRepo, onMode}) => html`<div class="pick">
  <${Field} label="Repository" as="select" value=${data.repo} onChange=${(event) => onRepo(event.target.value)}>
    ${data.repositories.map(({repo, items}) => html`<option key=${repo} value=${repo}>${shortOf(repo)} (${items})</option>`)}<//>
  <${Field} label="Figures of" as="select" value=${data.mode} onChange=${(event) => onMode(event.target.value)}>
    ${Object.entries(GIVEN).map(([name, said]) => html`<option key=${name} value=${name}>${said}</option>`)}<//>
</div>`;

function Whole({data, reload, pick}) {
  const {page: {lead, span, sections}} = data;
  return html`<${Card} title="Runs" hint="your own tasks, budgets and quiet hours come first" actions=${html`<span class="hint">spent in all: <${Money} usd=${data.cost_usd} /></span>`}>
      <${Start} key=${data.repo} data=${data} reload=${reload} />
      ${data.said ? html`<p class="said" role="status"><code>${data.said}</code></p>` : null}
      ${data.runs.length ? html`<${Runs} data=${data} reload=${reload} />` : null}
    <//>
    <${Card} title=${shortOf(data.repo)} hint=${span} actions=${pick} class="figures"><${Elements} of=${lead} /><//>
    ${sections.map(({name, title, body}) => html`<${Card} key=${name} title=${title} id=${name} class="figures"><${Elements} of=${body} /><//>`)}
    <${Card} title="Items" hint="commits whose tests fail before and pass after"><${Items} data=${data} /><//>`;
}

function Benchmark() {
  const [asked, setAsked] = useState(Object.fromEntries(new URLSearchParams(location.search)));
  const found = useData('/api/benchmark', asked);
  const {data, reload} = found;
  useEffect(() => {
    if (!data?.is_running) return undefined;
    const again = setInterval(() => { if (!document.hidden) reload(); }, LOOK_MS);
    return () => clearInterval(again);
  }, [data?.is_running, reload]);
  const pick = data?.repo ? html`<${Pick} data=${data} onRepo=${(repo) => setAsked({repo})} onMode=${(mode) => setAsked({repo: data.repo, mode})} />` : null;
  return html`<h1 class="unseen">Benchmark</h1>
    <${Loaded} of=${found}>${(all) => (all.repo
    ? html`<${Whole} data=${all} reload=${reload} pick=${pick} />`
    : html`<${Card} title="Benchmark" hint="what models are worth on your own history"><${Empty}>No repository was mined yet: <code>nightshift bench mine REPO</code> makes tasks of its commits.<//><//>`)}<//>`;
}

mount(Benchmark, {title: 'Benchmark'});
