// The list of weekly reports, newest first, and a form that creates a report.

import {fault, get, post, useData} from '../app/api.js';
import {go} from '../app/boot.js';
import {Button, Card, Empty, Field, Loaded, Moment} from '../app/parts.js';
import {mount, toast} from '../app/shell.js';
import {Table} from '../app/table.js';
import {html, useState} from '../app/ui.js';

const LIMIT = 20;
const ADDRESS = (name) => `/reports/${name}`;

const COLUMNS = [
  {key: 'name', label: 'Report', cell: (row) => html`<a href=${ADDRESS(row.name)}><b>${row.name}</b></a>`},
  {key: 'written', label: 'Written', cell: (row) => html`<${Moment} at=${row.written_at} />`},
  {key: 'file', label: 'Download', minor: true, cell: (row) => html`<a href=${`/api/report/${row.name}/file`} download>Markdown</a>`},
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
    : html`<${Empty}>There is no report yet. One is written at each checkpoint; the button above makes one for the time until now.<//>`)}<//>
    <//>`;
}

mount(Reports, {title: 'Reports'});
