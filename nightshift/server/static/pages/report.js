// One weekly report, drawn from the elements that it is made of, beside the figures of the one before.

import {page, useData} from '../app/api.js';
import {Card, Loaded, Moment} from '../app/parts.js';
import {mount} from '../app/shell.js';
import {html} from '../app/ui.js';
import {Elements} from './report/elements.js';
import {Facts} from './report/facts.js';

const {name} = page.where;
const FILE = (form) => `/api/report/${name}/file?form=${form}`;

const Downloads = () => html`<a href=${FILE('markdown')} download>Markdown</a>${' · '}<a href=${FILE('html')} download>HTML</a>`;

const Contents = ({sections}) => html`<nav class="contents" aria-label="Parts of the report"><ul class="plain">
  ${sections.map((section) => html`<li key=${section.name}><a href=${`#${section.name}`}>${section.title}</a></li>`)}</ul></nav>`;

const Head = ({report}) => html`<div class="bar">
  <h1>${report.page.title}</h1>
  <span class="hint">written <${Moment} at=${report.written_at} /></span> <${Downloads} /> <a href="/reports">all reports</a></div>`;

function Whole({report}) {
  const {page: {span, lead, sections}, facts} = report;
  const said = facts ? lead.filter(({tag}) => tag === 'p') : lead;
  return html`<${Head} report=${report} />
    <p class="hint">${span}</p>
    <div class="columns report">
      <div>
        <${Card} title="In short" class="short"><${Elements} of=${said} />${facts ? html`<${Facts} report=${report} />` : null}<//>
        ${sections.map(({name: id, title, body}) => html`<${Card} key=${id} title=${title} id=${id}><${Elements} of=${body} /><//>`)}
      </div>
      <${Contents} sections=${sections} />
    </div>`;
}

function Report() {
  const report = useData(`/api/report/${encodeURIComponent(name)}`);
  return html`<${Loaded} of=${report}>${(data) => html`<${Whole} report=${data} />`}<//>`;
}

mount(Report, {title: `Report ${name}`});
