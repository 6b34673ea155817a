// The newest tasks.

import {useData} from '../../app/api.js';
import {Card, Empty, Loaded, Moment, Pill} from '../../app/parts.js';
import {Table} from '../../app/table.js';
import {firstLine} from '../../app/text.js';
import {html} from '../../app/ui.js';

const COLUMNS = [
  {key: 'task_id', label: '#', number: true, sort: true},
  {key: 'status', label: 'Status', sort: true, cell: (task) => html`<${Pill} status=${task.status} />`},
  {key: 'description', label: 'Task', what: true, cell: (task) => html`
    <a href=${`/task/${task.task_id}`}>${firstLine(task.description)}</a>${task.reason ? html`<small>${firstLine(task.reason)}</small>` : null}`},
  {key: 'iteration_count', label: 'Tries', number: true, minor: true, sort: true},
  {key: 'commit', label: 'Commit', minor: true, cell: (task) => (task.commit ? html`<code>${task.commit.slice(0, 8)}</code>` : '–')},
  {key: 'when', label: 'When', minor: true, cell: (task) => html`<${Moment} at=${task.ended_at ?? task.started_at ?? task.created_at} />`},
];

export function Tasks() {
  const tasks = useData('/api/tasks', {limit: 50}, null);
  return html`<${Card} title="Tasks" id="queue"><${Loaded} of=${tasks}>${({tasks: rows}) => (rows.length
    ? html`<${Table} label="Tasks" rows=${rows} columns=${COLUMNS} keyOf=${(task) => task.task_id}
        onOpen=${(task) => location.assign(`/task/${task.task_id}`)} />`
    : html`<${Empty}>Nothing here yet. Describe a task, add one to <code>tasks.yaml</code>, or run${' '}
        <code>python cli.py "Create a FastAPI health check endpoint"</code>.<//>`)}<//><//>`;
}
