// The lessons that were similar to a task, for each attempt: those that it saw, and those that were withheld at random.

import {Empty} from '../../app/parts.js';
import {words} from '../../app/text.js';
import {html} from '../../app/ui.js';

const ARM = {
  shown: ['shown', 'the attempt saw it'],
  control: ['control group', 'this attempt was chosen at random to see no lesson, to measure what lessons are worth'],
  probation: ['on probation', 'the others were shown without this one, to measure what it is worth'],
};

const age = (days) => (days === null ? '–' : days < 1 ? 'under a day' : `${Math.round(days)} d`);

function Row({one}) {
  const [said, about] = ARM[one.arm] ?? [one.arm, ''];
  return html`<tr><td class="number">${one.score.toFixed(2)}</td><td class="number">${age(one.age_days)}</td>
    <td title=${about}>${said}</td><td class="what"><a href=${`/memory#${one.kind}-${one.item}`}>${one.about || `${one.kind} ${one.item}`}</a></td>
    <td class="hint minor nowrap">attempt ${one.attempt}${one.phase ? `, ${words(one.phase)}` : ''}${one.iteration ? `, iteration ${one.iteration}` : ''}</td></tr>`;
}

export const Lessons = ({recalls}) => (recalls.length ? html`
  <p class="hint">The score is the similarity, where 1 is identical; the age is that at recall.</p>
  <div class="scroll"><table aria-label="Lessons"><thead><tr><th scope="col" class="number">Score</th><th scope="col" class="number">Age</th>
    <th scope="col">Seen</th><th scope="col">About</th><th scope="col" class="minor">When</th></tr></thead>
    <tbody>${recalls.map((one) => html`<${Row} key=${`${one.attempt}-${one.kind}-${one.item}`} one=${one} />`)}</tbody></table></div>`
  : html`<${Empty}>Memory had no lesson similar to this task.<//>`);
