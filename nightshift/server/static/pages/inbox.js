// The page of the inbox: open questions of tasks to the owner, and earlier decisions.

import {useData} from '../app/api.js';
import {Card, Empty, Loaded} from '../app/parts.js';
import {mount} from '../app/shell.js';
import {html} from '../app/ui.js';
import {Asks} from './inbox/asks.js';
import {Decisions} from './inbox/decisions.js';
import {useWalk} from './inbox/walk.js';

const ASKED = ['asked', 'answered', 'task_moved'];

const NothingAsked = () => html`<${Empty}>Nothing needs your decision. Tasks ask here for packages, for more budget, about what
  their checks found, and with <code>--clarify</code> about vague words.<//>`;

function Inbox() {
  const asks = useData('/api/approvals', {open: 1}, ASKED);
  const walk = useWalk(asks.data?.approvals ?? [], asks.reload);
  return html`<h1 class="unseen">Inbox</h1>
    <${Card} title="Needs your decision" id="asks" hint=${asks.data?.approvals.length
    ? html`<kbd>j</kbd> <kbd>k</kbd> walk · <kbd>a</kbd> approve · <kbd>d</kbd> deny · <kbd>r</kbd> answer · <kbd>x</kbd> choose` : null}>
      <${Loaded} of=${asks}>${({approvals}) => (approvals.length
    ? html`<${Asks} asks=${approvals} walk=${walk} reload=${asks.reload} />` : html`<${NothingAsked} />`)}<//>
    <//>
    <${Decisions} />`;
}

mount(Inbox, {title: 'Inbox'});
