// The tasks: found, sorted and steered, under filters that can be kept by name, and a form for a new one.

import {Queue} from '../app/queue.js';
import {mount} from '../app/shell.js';
import {html} from '../app/ui.js';
import {NewTask} from './tasks/newtask.js';
import {Saved} from './tasks/saved.js';

function Tasks() {
  return html`<h1 class="unseen">Tasks</h1>
    <div class="columns">
      <div><a class="only-narrow" href="#new">New task</a><${Queue} title="Tasks" above=${(list) => html`<${Saved} list=${list} />`} /></div>
      <div role="complementary" aria-label="New task"><${NewTask} /></div>
    </div>`;
}

mount(Tasks, {title: 'Tasks'});
