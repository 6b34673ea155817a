// The dashboard: what the daemon does now, and what can be done about it.

import {Card, Empty, Moment, Pill} from '../app/parts.js';
import {useData} from '../app/api.js';
import {mount, status} from '../app/shell.js';
import {firstLine} from '../app/text.js';
import {html} from '../app/ui.js';

function Dashboard() {
  const tasks = useData('/api/tasks', {limit: 50}, null);
  return html`<h1 class="unseen">Dashboard</h1>
    <${Card} title="Tasks" hint=${status.data?.state}>
      ${tasks.data?.tasks.length ? html`<ul class="plain">${tasks.data.tasks.map((task) => html`<li key=${task.task_id}>
        <${Pill} status=${task.status} /> <a href=${`/task/${task.task_id}`}>${firstLine(task.description)}</a>
        <${Moment} at=${task.created_at} /></li>`)}</ul>` : html`<${Empty}>Nothing here yet.<//>`}
    <//>`;
}

mount(Dashboard, {title: 'Dashboard'});
