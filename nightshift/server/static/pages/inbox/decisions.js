// Earlier decisions on questions, each with its time, the answer, and who decided.

import {fault, get, useData} from '../../app/api.js';
import {Button, Card, Empty, Loaded, Moment, Pill} from '../../app/parts.js';
import {Table} from '../../app/table.js';
import {toast} from '../../app/shell.js';
import {html, useState} from '../../app/ui.js';

const LIMIT = 20;
const WHO = {owner: 'you', assumed: 'nobody in time'};

function Outcome({row}) {
  if (row.answered_by === 'assumed') return html`<${Pill} status="waiting">assumed<//>`;
  if (row.kind === 'question' && row.granted) return html`<${Pill} status="done">answered<//>`;
  return html`<${Pill} status=${row.granted ? 'done' : 'failed'}>${row.granted ? 'approved' : 'denied'}<//>`;
}

const COLUMNS = [
  {key: 'answered_at', label: 'When', cell: (row) => html`<${Moment} at=${row.answered_at} />`},
  {key: 'outcome', label: 'Decision', cell: (row) => html`<${Outcome} row=${row} />`},
  {key: 'question', label: 'Asked', what: true, cell: (row) => html`${row.question}
    <small><a href=${`/task/${row.task_id}`}>#${row.task_id} ${row.wanted}</a></small>`},
  {key: 'answer', label: 'Said', what: true, cell: (row) => row.answer || html`<span class="none">–</span>`},
  {key: 'answered_by', label: 'By', minor: true, cell: (row) => WHO[row.answered_by] ?? html`<span class="none">–</span>`},
];

function Older({first}) {
  const [more, setMore] = useState([]);
  const [after, setAfter] = useState(first.next_after);
  const load = async () => {
    const answer = await get('/api/decisions', {limit: LIMIT, after});
    if (!answer.ok) return toast(fault(answer), 'bad');
    setMore([...more, ...answer.data.decisions]);
    return setAfter(answer.data.next_after);
  };
  return html`<${Table} rows=${[...first.decisions, ...more]} columns=${COLUMNS} keyOf=${(row) => row.approval_id}
      label="Decisions" walk=${false} served />
    ${after ? html`<div class="more"><${Button} onClick=${load}>Show older ones<//></div>` : null}`;
}

export function Decisions() {
  const decided = useData('/api/decisions', {limit: LIMIT}, ['answered']);
  return html`<${Card} title="Decided" id="decided">
    <${Loaded} of=${decided}>${(data) => (data.decisions.length
    ? html`<${Older} key=${data.decisions[0].approval_id} first=${data} />`
    : html`<${Empty}>Nothing has been decided yet.<//>`)}<//>
  <//>`;
}
