// The table of lessons, with the text, the effect and the number of uses of each.

import {Moment, Pill} from '../../app/parts.js';
import {Table} from '../../app/table.js';
import {percent} from '../../app/text.js';
import {html} from '../../app/ui.js';
import {shown, wanted} from './model.js';
import {Range} from './range.js';

const STATES = {active: 'done', probation: 'waiting', retired: ''};
const SAID = {active: 'active', probation: 'on probation', retired: 'retired'};

/** The state of a lesson, in words and in its colour. */
export const State = ({state}) => html`<${Pill} status=${STATES[state]}>${SAID[state]}<//>`;

const rate = ({part, whole}) => (whole ? `${part} of ${whole}` : '–');

/** The measured effect of a lesson as a small chart, with the solve rates as its tooltip. */
export function Effect({lesson}) {
  const told = `solved with it ${rate(lesson.shown)}, without ${rate(lesson.withheld)}`;
  if (!lesson.uplift) return html`<span class="hint still" title=${told}>${lesson.shown.whole ? `${rate(lesson.shown)} with it` : 'not known'}</span>`;
  return html`<span title=${told}><${Range} found=${lesson.uplift} most=${1} label=${told} /></span>`;
}

const Said = ({lesson}) => html`<a href=${`/memory?lesson=${lesson.id}`} onClick=${(event) => open(event, lesson.id)}>${lesson.lesson || lesson.about || lesson.id}</a>
  <small>${lesson.lesson ? lesson.about : ''}</small>`;

function open(event, id) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  shown.value = id;
}

const COLUMNS = [
  {key: 'lesson', label: 'Lesson', what: true, cell: (row) => html`<${Said} lesson=${row} />`},
  {key: 'kind', label: 'Kind', minor: true},
  {key: 'state', label: 'State', cell: (row) => html`<${State} state=${row.state} />`},
  {key: 'effect', label: 'Effect', minor: true, cell: (row) => html`<${Effect} lesson=${row} />`},
  {key: 'times_used', label: 'Shown', number: true, cell: (row) => html`<span title=${`${row.helped} of ${row.times_used} tasks that saw it were solved`}>${row.times_used}</span>`},
  {key: 'language', label: 'Language', minor: true},
  {key: 'learned_at', label: 'Learned', minor: true, cell: (row) => html`<${Moment} at=${row.learned_at} />`},
];
const NEAR = {key: 'nearness', label: 'Near', number: true, cell: (row) => percent(row.nearness)};

/** The table of lessons. @param {{lessons: object[]}} props */
export const List = ({lessons}) => html`<${Table} rows=${lessons} label="Lessons" keyOf=${(row) => row.id} served
  columns=${wanted.value.like ? [NEAR, ...COLUMNS] : COLUMNS} onOpen=${(row) => { shown.value = row.id; }} />`;
