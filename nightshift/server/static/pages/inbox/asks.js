// The list of open questions. Several can be decided at once.

import {Ask} from '../../app/ask.js';
import {decideAll} from '../../app/deciding.js';
import {Button} from '../../app/parts.js';
import {toggle} from '../../app/table.js';
import {counted} from '../../app/text.js';
import {html, useSignal} from '../../app/ui.js';

function Row({ask, walk, reload}) {
  const name = `ask-${ask.approval_id}`;
  const isAt = walk.at.value === name;
  const isChosen = walk.chosen.value.has(ask.approval_id);
  const choice = html`<input type="checkbox" aria-label=${`Choose ask ${ask.approval_id}`} checked=${isChosen}
    onChange=${() => toggle(walk.chosen, ask.approval_id)} />`;
  const more = {id: name, class: {at: isAt, chosen: isChosen}, 'aria-current': isAt ? 'true' : undefined, onClick: () => { walk.at.value = name; }};
  return html`<${Ask} ask=${ask} reload=${reload} choice=${choice} more=${more} />`;
}

function Several({asks, walk, reload}) {
  const remark = useSignal('');
  const ids = asks.map(({approval_id: id}) => id).filter((id) => walk.chosen.value.has(id));
  if (!ids.length) return null;
  const press = (granted) => async () => {
    if (await decideAll(ids, granted, remark.peek())) walk.chosen.value = new Set();
    await reload();
  };
  return html`<div class="several" role="group" aria-label="Decide the chosen asks">
    <b>${counted(ids.length, 'ask')} chosen</b>
    <input type="text" maxlength="2000" aria-label="Note for all" placeholder="note for all (optional)" value=${remark.value}
      onInput=${(event) => { remark.value = event.target.value; }} />
    <${Button} sends kind="main" onClick=${press(true)}>Approve all<//>
    <${Button} sends onClick=${press(false)}>Deny all<//>
    <${Button} kind="bare" onClick=${() => { walk.chosen.value = new Set(); }}>Choose none<//>
  </div>`;
}

/**
 * The list of open questions. @param {{asks: object[], walk: import('./walk.js').Walk, reload: () => Promise<void>}}
 * props
 */
export const Asks = ({asks, walk, reload}) => html`
  <${Several} asks=${asks} walk=${walk} reload=${reload} />
  <ul class="plain items">${asks.map((ask) => html`<${Row} key=${ask.approval_id} ask=${ask} walk=${walk} reload=${reload} />`)}</ul>`;
