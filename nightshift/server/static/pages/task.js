// The page of a task: its status, its course step by step, and all actions on it.

import {page, useData} from '../app/api.js';
import {LogLines} from '../app/loglines.js';
import {Check, Loaded, Tabs} from '../app/parts.js';
import {mount} from '../app/shell.js';
import {firstLine} from '../app/text.js';
import {html, signal} from '../app/ui.js';
import {Asked} from './task/asked.js';
import {Course, following} from './task/course.js';
import {Change} from '../app/difference.js';
import {Head} from './task/head.js';
import {Lessons} from './task/lessons.js';
import {go, place} from './task/place.js';

const id = Number(page.where.task_id);
const title = signal(`Task ${id}`);

/** Ids of the tasks whose events lead to a reload: this task and its subtasks. */
const about = new Set([id]);
const concerns = (line) => about.has(line.task_id);

const tabsOf = (task, course) => [
  ['course', 'Timeline'],
  ['change', 'Diff'],
  ['lessons', `Lessons (${course.recalls.length})`],
  ['asked', 'Prompt'],
  ['log', 'Log'],
];

function Part({name, task, course}) {
  if (name === 'change') return html`<${Change} path=${`/api/task/${id}/diff`} />`;
  if (name === 'lessons') return html`<${Lessons} recalls=${course.recalls} />`;
  if (name === 'asked') return html`<${Asked} task=${task} course=${course} />`;
  if (name === 'log') return html`<${LogLines} task=${id} />`;
  return html`<${Course} task=${task} course=${course} />`;
}

function Body({task, course, reload}) {
  const {part} = place.value;
  return html`<section class="card" aria-label="Timeline and diff">
    ${course.running ? html`<div class="follow"><${Check} label="Follow the newest step" checked=${following.value}
      onChange=${(event) => { following.value = event.target.checked; }} /></div>` : null}
    <${Tabs} label="Parts of the page" tabs=${tabsOf(task, course)} chosen=${part}
      onChoose=${(name) => go({part: name, step: null, iteration: null, tab: '', item: ''})}>
      <${Part} name=${part} task=${task} course=${course} reload=${reload} /><//>
  </section>`;
}

function TaskPage() {
  const task = useData(`/api/task/${id}`, {}, concerns);
  const course = useData(`/api/task/${id}/timeline`, {attempt: place.value.attempt}, concerns);
  const commits = useData('/api/commits', {task: id}, concerns);
  const reload = () => Promise.all([task.reload(), course.reload(), commits.reload()]);
  return html`<${Loaded} of=${task}>${(data) => {
    data.children.forEach((part) => about.add(part.task_id));
    title.value = `#${id} ${firstLine(data.description, 60)}`;
    return html`<${Head} task=${data} course=${course.data} commits=${commits.data?.commits} reload=${reload} />
      <${Loaded} of=${course}>${(told) => html`<${Body} task=${data} course=${told} reload=${reload} />`}<//>`;
  }}<//>`;
}

mount(TaskPage, {title: () => title.value});
