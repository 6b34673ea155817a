// Ways of being told: a test notice, and notifications of this browser.

import {fault, post} from '../../app/api.js';
import {isTelling, tellHere, tellNoMore} from '../../app/notices.js';
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

function Here() {
  const [why, setWhy] = useState('');
  const turn = async (event) => {
    if (!event.target.checked) tellNoMore();
    else setWhy(await tellHere());
  };
  return html`<div class="setting"><div class="about"><label class="name" for="here">this browser</label>
      <p class="hint" id="t-here">Whether this browser shows a notification of the same kinds while a page of Nightshift is open in it.
        Kept in the browser, not in config.yaml.</p></div>
    <div class="control"><input type="checkbox" role="switch" id="here" aria-describedby="t-here" checked=${isTelling.value} onChange=${turn} />
      ${why ? html`<p class="error" role="alert">${why}</p>` : null}</div></div>`;
}

export function Telling() {
  const [answer, setAnswer] = useState(null);
  const test = async () => setAnswer(await post('/api/notices/test', asked()));
  return html`<${Here} />
    <div class="bar"><${Button} sends onClick=${test}>Send a test notice<//>
      <span class="hint">each way that is set, with what is typed above</span></div>
    <div role="status">${answer ? html`<${Outcome} answer=${answer} />` : null}</div>`;
}
