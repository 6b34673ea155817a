// The models: which are available, how fast they reply, and how much they were used.

import {Card, Count, Dot, Empty, Money, Pill, Span} from '../../app/parts.js';
import {counted} from '../../app/text.js';
import {html} from '../../app/ui.js';

const CIRCUIT = {open: 'not used for now, after repeated failures', half_open: 'being probed'};

function Backend({model}) {
  const [kind, said] = model.checked_at === null ? ['', 'being checked'] : model.available ? ['up', 'available'] : ['down', 'not reachable'];
  return html`<li data-model=${model.name}>
    <div class="model-head"><${Dot} kind=${kind} label=${said} /><b>${model.name}</b>
      <span class="hint model-name">${model.model}</span>
      ${CIRCUIT[model.circuit] ? html`<${Pill} status="warn" title=${CIRCUIT[model.circuit]}>circuit ${model.circuit.replace('_', ' ')}<//>` : null}
      ${model.latency_s === null ? null : html`<span class="time" title="how long a reply takes"><${Span} seconds=${model.latency_s} /></span>`}</div>
    ${model.detail || !model.available ? html`<small>${model.detail || said}</small>` : null}
    ${model.calls ? html`<small><span title="calls">${counted(model.calls, 'call')}</span>${model.failures ? html`, <span class="bad">${model.failures} failed</span>` : null}
      ${' · '}<${Count} value=${model.tokens_in} /> in, <${Count} value=${model.tokens_out} /> out
      ${' · '}<${Money} usd=${model.cost_usd} unpriced=${model.unpriced} /></small>` : html`<small>not used since the start</small>`}
    ${model.measured ? html`<small>solved: ${model.measured}</small>` : null}
    ${model.form ? html`<small>${model.form}</small>` : null}
    ${model.malformed_share === null ? null : html`<small>tool calls: ${model.protocol}, ${Math.round(100 * model.malformed_share)} % malformed</small>`}
  </li>`;
}

export const Models = ({models}) => html`<${Card} title="Models" hint="calls and cost since the daemon started">
  ${models.length ? html`<ul class="plain">${models.map((model) => html`<${Backend} key=${`${model.name} ${model.model}`} model=${model} />`)}</ul>`
    : html`<${Empty}>No model yet. Start Ollama, or set <code>OPENAI_API_KEY</code>; tasks wait until then and continue by themselves.<//>`}
<//>`;
