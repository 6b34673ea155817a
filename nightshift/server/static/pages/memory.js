// The memory page: the measured value of lessons, and the lessons, with search, details, retirement, export and import.

import {useData} from '../app/api.js';
import {Button, Card, Empty, Loaded} from '../app/parts.js';
import {mount, useFocusKey} from '../app/shell.js';
import {counted} from '../app/text.js';
import {html} from '../app/ui.js';
import {Carry} from './memory/carry.js';
import {Filters} from './memory/filters.js';
import {List} from './memory/list.js';
import {Lesson} from './memory/lesson.js';
import {LIMIT, isFiltered, query, reset, shown, turn} from './memory/model.js';
import {Worth} from './memory/worth.js';

const LEARNED = ['lesson_stored', 'lesson_retired', 'lesson_restored', 'task_moved'];

const NoLessons = () => html`<${Empty}>Nothing has been learned yet. A lesson is made when a task fails first and passes later:
  the error, and the change that fixed it.<//>`;

const NothingFits = () => html`<${Empty}>No lesson matches. <${Button} kind="small" onClick=${reset}>Show all<//><//>`;

function Turns({data}) {
  const offset = query.value.offset ?? 0;
  const last = Math.min(data.found, offset + LIMIT);
  return html`<div class="end"><p class="hint">${data.found > LIMIT ? `${offset + 1} to ${last} of ${counted(data.found, 'lesson')}` : counted(data.found, 'lesson')}</p>
    <div class="actions">
      ${offset ? html`<${Button} onClick=${() => turn(Math.max(0, offset - LIMIT))}>Newer<//>` : null}
      ${data.next_offset !== null ? html`<${Button} onClick=${() => turn(data.next_offset)}>Older<//>` : null}
    </div></div>`;
}

function Memory() {
  useFocusKey('/', 'search lessons', '[data-search]');
  const learning = useData('/api/learning', {}, LEARNED);
  const lessons = useData('/api/lessons', query.value, LEARNED);
  return html`<h1 class="unseen">Memory</h1>
    <${Card} title="Does memory help?"><${Loaded} of=${learning}>${(data) => html`<${Worth} learning=${data} />`}<//><//>
    <${Card} title="Lessons" actions=${html`<${Carry} reload=${lessons.reload} />`}>
      <${Filters} places=${lessons.data} />
      <${Loaded} of=${lessons}>${(data) => (data.lessons.length
    ? html`<${List} lessons=${data.lessons} /><${Turns} data=${data} />` : isFiltered() ? html`<${NothingFits} />` : html`<${NoLessons} />`)}<//>
    <//>
    <${Lesson} id=${shown.value} reload=${lessons.reload} />`;
}

mount(Memory, {title: 'Memory'});
