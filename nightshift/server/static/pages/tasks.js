// The page of tasks: the list with search, sorting and actions, and a form for a new task.

import {useData} from '../app/api.js';
import {Causes} from '../app/causes.js';
import {Forecast} from '../app/forecast.js';
import {Queue} from '../app/queue.js';
import {mount, status} from '../app/shell.js';
import {html} from '../app/ui.js';
import {Notices} from './dashboard/alerts.js';
import {NewTask} from './tasks/newtask.js';
import {Filters} from './tasks/filters.js';

/** The causes of failures, shown above the list if it shows only failed tasks. */
function Why({list}) {
  const {status, q, kind, repo, since, until} = list.wanted.value;
  const isShown = status.join() === 'failed' && !q && !kind && !repo;
  const found = useData(isShown ? '/api/causes' : null, {since, until}, ['task_moved', 'task_recovered']);
  return isShown && found.data ? html`<${Causes} causes=${found.data.causes} more=${found.data.more_causes} since=${since} until=${until} onDone=${list.reload} />` : null;
}

function Tasks() {
  return html`<h1 class="unseen">Tasks</h1>
    <${Forecast} />
    <${Notices} notices=${status.data?.notices ?? []} />
    <div class="columns">
      <div><a class="only-narrow" href="#new">New task</a><${Queue} above=${(list) => html`<${Filters} list=${list} /><${Why} list=${list} />`} /></div>
      <div role="complementary" aria-label="New task"><${NewTask} /></div>
    </div>`;
}

mount(Tasks, {title: 'Tasks'});
