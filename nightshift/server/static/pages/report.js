// One weekly report, drawn from the elements that the API sends. Its strings are drawn as text, never as markup.

import {page, useData} from '../app/api.js';
import {Card, Loaded, Moment} from '../app/parts.js';
import {mount} from '../app/shell.js';
import {h, html} from '../app/ui.js';

const {name} = page.where;

const Contents = ({sections}) => html`<nav class="contents" aria-label="Parts of the report"><ul class="plain">
  ${sections.map((section) => html`<li key=${section.name}><a href=${`#${section.name}`}>${section.title}</a></li>`)}</ul></nav>`;

/** A text in which each name of a task, such as `task 7`, is a link to the task. */
const Linked = ({text}) => text.split(/\b(task \d+)\b/).map((part, index) => (index % 2
  ? html`<a key=${index} href=${`/task/${part.slice(5)}`}>${part}</a>` : part));

function Node({node}) {
  if (typeof node === 'string') return html`<${Linked} text=${node} />`;
  const {tag, attributes, children} = node;
  return h(tag, attributes, tag === 'code' ? children : children.map((child, index) => html`<${Node} key=${index} node=${child} />`));
}

const Elements = ({of}) => of.map((node, index) => html`<${Node} key=${index} node=${node} />`);

const Whole = ({report: {page: {title, lead, sections}, written_at: writtenAt}}) => html`<div class="bar">
  <h1>${title}</h1>
  <span class="hint">written <${Moment} at=${writtenAt} /></span>
  <a href=${`/api/report/${name}/file`} download>Markdown</a> <a href="/reports">all reports</a></div>
  <div class="columns report">
    <div>
      <${Card} title="In short" class="short"><${Elements} of=${lead} /><//>
      ${sections.map(({name: id, title: heading, body}) => html`<${Card} key=${id} title=${heading} id=${id}><${Elements} of=${body} /><//>`)}
    </div>
    <${Contents} sections=${sections} />
  </div>`;

function Report() {
  const report = useData(`/api/report/${encodeURIComponent(name)}`);
  return html`<${Loaded} of=${report}>${(data) => html`<${Whole} report=${data} />`}<//>`;
}

mount(Report, {title: `Report ${name}`});
