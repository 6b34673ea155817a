// A button that sends a test notice through all notification channels.

import {fault, post} from '../../app/api.js';
import {Button} from '../../app/parts.js';
import {html, useState} from '../../app/ui.js';
import {drafts} from './model.js';

function asked() {
  const all = drafts.peek();
  const names = ['notify_url', 'notify_secret', 'notify_desktop'].filter((name) => name in all && all[name] !== null);
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

function Outcome({answer}) {
  if (!answer.ok) return html`<p class="error">${fault(answer)}</p>`;
  return html`<ul class="plain">${answer.data.ways.map(({way, fault: why}) => html`<li key=${way} class=${why ? 'error' : 'good'}>
    ${way}: ${why || 'sent'}</li>`)}</ul>`;
}

export function Telling() {
  const [answer, setAnswer] = useState(null);
  const test = async () => setAnswer(await post('/api/notices/test', asked()));
  return html`<div class="bar"><${Button} sends onClick=${test}>Send a test notice<//>
      <span class="hint">by each way that is set, with the values typed above</span></div>
    <div role="status">${answer ? html`<${Outcome} answer=${answer} />` : null}</div>`;
}
