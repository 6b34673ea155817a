// The daemon itself: its version, sandbox and workspace, and how many replies its built-in engine saved.

import {Card, Moment} from '../../app/parts.js';
import {counted} from '../../app/text.js';
import {html} from '../../app/ui.js';

const engine = ({saved, replies, solved, days}) => (replies || solved
  ? `${saved} of ${counted(replies, 'reply', 'replies')} saved and ${counted(solved, 'task')} solved without a model in ${days} days`
  : 'nothing to do so far');

function Sandbox({report}) {
  const isFailing = report.sandbox_detail.includes('FAILED');
  return html`${report.sandbox || '–'}${report.sandbox_detail ? html`
    <details open=${isFailing}><summary class="hint">what was tried</summary><small>${report.sandbox_detail}</small></details>` : null}`;
}

export const Machine = ({report}) => html`<${Card} title="Daemon">
  <dl>
    <dt>Version</dt><dd>${report.version}${report.pid ? html` <span class="hint">process ${report.pid}</span>` : null}</dd>
    <dt>Sandbox</dt><dd><${Sandbox} report=${report} /></dd>
    <dt>Built-in engine</dt><dd>${engine(report.saved)}</dd>
    ${report.workspace ? html`<dt>Workspace</dt><dd class="path">${report.workspace}</dd>` : null}
    <dt>Checkpoint</dt><dd><${Moment} at=${report.next_checkpoint_at} form="full" /></dd>
  </dl>
<//>`;
