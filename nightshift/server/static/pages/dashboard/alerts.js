// Messages that the owner should see first: reasons that hold tasks back, notices, and open questions to the owner.

import {useData} from '../../app/api.js';
import {Ask} from '../../app/ask.js';
import {Card, Moment, Prose} from '../../app/parts.js';
import {counted} from '../../app/text.js';
import {html} from '../../app/ui.js';

const SHOWN = 3;

/** The reasons why no task is started, each with its start, its end if known, and the event that ends it. */
export const Holds = ({holds}) => holds.map((hold) => html`
  <p class="notice" key=${hold.source}><b>${hold.label}</b>${hold.reason ? ` (${hold.reason})` : ''}, since <${Moment} at=${hold.since} />${hold.until
    ? html`, until <${Moment} at=${hold.until} form="short" />` : null}. Running tasks continue; tasks are started again <${Prose} text=${hold.lifted_by} />.</p>`);

export const Notices = ({notices}) => notices.map((text) => html`<p class="notice" key=${text}><${Prose} text=${text} /></p>`);

/** The first open questions to the owner. If there are more, it links to the inbox. */
export function Asks() {
  const open = useData('/api/approvals', {open: 1}, ['asked', 'answered', 'task_moved']);
  const asks = open.data?.approvals ?? [];
  if (!asks.length) return null;
  const more = asks.length - SHOWN;
  return html`<${Card} title="Needs your decision" id="asks"
    hint=${more > 0 ? html`<a href="/inbox">${counted(more, 'more', 'more')} in the inbox</a>` : null}>
    <ul class="plain items">${asks.slice(0, SHOWN).map((ask) => html`<${Ask} key=${ask.approval_id} ask=${ask} reload=${open.reload} />`)}</ul>
  <//>`;
}
