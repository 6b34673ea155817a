// The models that a fork can ask: what each has cost and taken so far, and what those that are chosen are likely to cost.

import {useData} from '../../app/api.js';
import {Loaded, Money, Span} from '../../app/parts.js';
import {counted, money} from '../../app/text.js';
import {html} from '../../app/ui.js';

/** What is known of a model, in words; a mean of its attempts. */
function Measured({model}) {
  if (!model.attempts) return html`<small>not measured yet</small>`;
  return html`<small>${model.cost_usd === null ? 'price not set' : html`<${Money} usd=${model.cost_usd} />`}, <${Span} seconds=${model.seconds} />,
    solved ${model.solved} of ${counted(model.attempts, 'attempt')}</small>`;
}

/** What the chosen ones are likely to cost together, and what the day's budget has left for it. */
function Expected({models, left}) {
  const known = models.filter(({cost_usd: cost}) => cost !== null);
  const sum = known.reduce((all, {cost_usd: cost}) => all + cost, 0);
  const unknown = models.length - known.length;
  if (!models.length) return html`<p class="hint">Without a choice, the settings decide who is asked.</p>`;
  return html`<p class="expected" role="status">
    ${known.length ? html`Expected cost${models.length > 1 ? ` of all ${models.length} forks` : ''}: <b>${unknown ? 'more than' : 'about'} ${money(sum, 0)}</b>`
    : 'There is no measured cost for this choice'}${unknown && known.length ? `; ${counted(unknown, 'model')} not measured` : ''}.
    ${left === null ? '' : ` The day's budget has ${money(left, 0)} left.`}
    ${left !== null && sum > left ? html` <b class="short">That is more than it has.</b>` : null}
    ${models.length > 1 ? ' What passes waits on its branch until you integrate one of them.' : ''}</p>`;
}

/** @param {{id: number, chosen: string[], choose: (names: string[]) => void}} props `chosen` are names of the API's */
export function Models({id, chosen, choose}) {
  const found = useData(`/api/task/${id}/fork-models`);
  const turn = (name) => choose(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);
  return html`<fieldset class="fork-models"><legend>Models</legend>
    <p class="hint">Each is asked first in every phase of its own fork; the others follow where it cannot answer. Cost and time are those of its code, the mean of its attempts so far.</p>
    <${Loaded} of=${found}>${({models, left_usd: left}) => html`
      ${models.map((model) => html`<label class="check" key=${model.name}>
        <input type="checkbox" checked=${chosen.includes(model.name)} onChange=${() => turn(model.name)} />
        <span>${model.name}${model.available ? '' : ' (not available now)'} <${Measured} model=${model} /></span></label>`)}
      <${Expected} models=${models.filter(({name}) => chosen.includes(name))} left=${left} />`}<//></fieldset>`;
}
