// One weekly report, drawn from the pieces of text that it is made of, beside the figures of the one before.

import {page, useData} from '../app/api.js';
import {Card, Empty, Loaded, Moment} from '../app/parts.js';
import {mount} from '../app/shell.js';
import {html} from '../app/ui.js';
import {Block, Line} from './report/blocks.js';
import {Facts} from './report/facts.js';

const {name} = page.where;
const FILE = (form) => `/api/report/${name}/file?form=${form}`;

const Downloads = () => html`<a href=${FILE('markdown')} download>Markdown</a>${' · '}<a href=${FILE('html')} download>HTML</a>`;

const Contents = ({sections}) => html`<nav class="contents" aria-label="Parts of the report"><ul class="plain">
  ${sections.map((section) => html`<li key=${section.name}><a href=${`#${section.name}`}>${section.title}</a></li>`)}</ul></nav>`;

const Head = ({report}) => html`<div class="bar">
  <h1>${report.page?.title ?? `Report ${name}`}</h1>
  <span class="hint">written <${Moment} at=${report.written_at} /></span> <${Downloads} /> <a href="/reports">all reports</a></div>`;

const Section = ({section}) => html`<${Card} title=${section.title} id=${section.name}>
  ${section.blocks.map((block, index) => html`<${Block} key=${index} block=${block} />`)}<//>`;

function Whole({report}) {
  const {page: told} = report;
  if (told === null) {
    return html`<${Head} report=${report} /><${Card} title="Not kept for this page"><${Empty}>This report was written before pages could show one.
      Download it, or make it again: in the list of <a href="/reports">reports</a>, by its week.<//><//>`;
  }
  return html`<${Head} report=${report} />
    <p class="hint">${told.span}</p>
    <div class="columns report">
      <div>
        <${Card} title="In short">
          ${told.lead.map((line, index) => html`<p class="lead" key=${index}><${Line} pieces=${line} /></p>`)}
          <${Facts} report=${report} />
        <//>
        <${Card} title="Recommendations" id="recommendations">${told.advice.length
    ? html`<ul class="advice">${told.advice.map((line, index) => html`<li key=${index}><${Line} pieces=${line} /></li>`)}</ul>`
    : html`<${Empty}>Nothing stands out.<//>`}<//>
        ${told.sections.map((section) => html`<${Section} key=${section.name} section=${section} />`)}
      </div>
      <${Contents} sections=${told.sections} />
    </div>`;
}

function Report() {
  const report = useData(`/api/report/${encodeURIComponent(name)}`);
  return html`<${Loaded} of=${report}>${(data) => html`<${Whole} report=${data} />`}<//>`;
}

mount(Report, {title: `Report ${name}`});
