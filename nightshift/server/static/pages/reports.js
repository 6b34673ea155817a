// The weekly reports: newest first with their figures, downloads, and one that is made now.

import {fault, get, post, useData} from '../app/api.js';
import {go} from '../app/boot.js';
import {Button, Card, Empty, Field, Loaded, Moment} from '../app/parts.js';
import {mount, toast} from '../app/shell.js';
import {Table} from '../app/table.js';
import {html, useState} from '../app/ui.js';

const LIMIT = 20;
const ADDRESS = (name) => `/reports/${name}`;
const FILE = (name, form) => `/api/report/${name}/file?form=${form}`;

// Stored reports keep the names that they were made with.
const OLD = {'cost in USD': 'cost'};
const figure = (row, name) => row.facts?.find((fact) => name === fact.name || name === OLD[fact.name])?.shown ?? html`<span class="none">–</span>`;
const column = (name, label, more = {}) => ({key: name, label, number: true, cell: (row) => figure(row, name), ...more});

const COLUMNS = [
  {key: 'name', label: 'Report', cell: (row) => html`<a href=${ADDRESS(row.name)}><b>${row.name}</b></a>`},
  {key: 'span', label: 'Span', minor: true, cell: (row) => (row.since
    ? html`<${Moment} at=${row.since} form="day" /> to <${Moment} at=${row.until} form="day" />` : html`<span class="none">–</span>`)},
  column('tasks done', 'Done'),
  column('succeeded', 'Succeeded'),
  column('at the first try', 'First iteration', {minor: true}),
  column('commits', 'Commits', {minor: true}),
  column('tokens', 'Tokens', {minor: true}),
  column('cost', 'Cost'),
  {key: 'files', label: 'Download', minor: true, cell: (row) => html`<a href=${FILE(row.name, 'markdown')} download>Markdown</a>
    ${' · '}<a href=${FILE(row.name, 'html')} download>HTML</a>`},
];

function Make() {
  const [week, setWeek] = useState('');
  const [error, setError] = useState('');
  const make = async (event) => {
    event?.preventDefault();
    const answer = await post('/api/reports', {week: week.trim()});
    if (!answer.ok) return setError(fault(answer).replace(/^week: /, ''));
    toast(`${answer.data.name} is made.`, 'good');
    go(ADDRESS(answer.data.name));
    return undefined;
  };
  return html`<form class="make" onSubmit=${make}>
    <${Field} label="Week" hint="empty: since the last checkpoint, until now" placeholder="2026-W47" maxlength="20" error=${error} value=${week}
      onInput=${(event) => { setWeek(event.target.value); setError(''); }} />
    <${Button} sends kind="main" onClick=${make}>Make a report now<//>
  </form>`;
}

function List({first}) {
  const [more, setMore] = useState([]);
  const [after, setAfter] = useState(first.next_after);
  const load = async () => {
    const answer = await get('/api/reports', {limit: LIMIT, after});
    if (!answer.ok) return toast(fault(answer), 'bad');
    setMore([...more, ...answer.data.reports]);
    return setAfter(answer.data.next_after);
  };
  return html`<${Table} rows=${[...first.reports, ...more]} columns=${COLUMNS} keyOf=${(row) => row.name} label="Reports" served
      onOpen=${(row) => go(ADDRESS(row.name))} />
    ${after ? html`<div class="more"><${Button} onClick=${load}>Show older ones<//></div>` : null}`;
}

function Reports() {
  const reports = useData('/api/reports', {limit: LIMIT}, ['checkpoint']);
  return html`<h1 class="unseen">Reports</h1>
    <${Card} title="Weekly reports" hint="what was done, what it cost, what needs you">
      <${Make} />
      <${Loaded} of=${reports}>${(data) => (data.reports.length
    ? html`<${List} key=${data.reports[0].written_at} first=${data} />`
    : html`<${Empty}>There is no report yet. One is written at each checkpoint; the button above makes one of the time until now.<//>`)}<//>
    <//>`;
}

mount(Reports, {title: 'Reports'});
