// The model backends, each with a button that tests whether it answers. The test uses the values in the form, saved or
// not.

import {fault, post} from '../../app/api.js';
import {Button, Dot, Prose, Span} from '../../app/parts.js';
import {status} from '../../app/shell.js';
import {html, useState} from '../../app/ui.js';
import {drafts, edit, known, rowOf, shown} from './model.js';

const BACKENDS = [
  ['openai', 'openai_base_url', 'openai_api_key'], ['anthropic', 'anthropic_base_url', 'anthropic_api_key'],
  ['gemini', 'gemini_base_url', 'gemini_api_key'], ['ollama', 'ollama_base_url', null],
  ['gpt4all', null, null], ['llama_cpp', null, null],
];
const FILES = {gpt4all: 'gpt4all_model_path', llama_cpp: 'llama_cpp_model_path'};
const OFFERED = 12;

/** Return the model that the setting `model_name` assigns to a backend. */
function modelOf(backend) {
  const row = rowOf('model_name');
  const named = String(shown(row)).split(',').map((each) => each.trim().split('='));
  return named.find(([kind, model]) => model !== undefined && kind === backend)?.[1];
}

function asked(backend, address, key, ask) {
  const all = drafts.peek();
  const body = {backend, ask};
  if (address in all) body.base_url = all[address] ?? '';
  if (all[key]) body.key = all[key];
  const model = modelOf(backend);
  return model ? {...body, model} : body;
}

const Offered = ({backend, names}) => html`<p class="offered hint">Names ${names.length} models:
  ${names.slice(0, OFFERED).map((name) => html` <${Button} kind="quiet" key=${name} title="use this model" disabled=${rowOf('model_name').fixed !== ''}
    onClick=${() => edit(rowOf('model_name'), `${backend}=${name}`)}>${name}<//>`)}${names.length > OFFERED ? ' …' : ''}</p>`;

function Outcome({backend, answer}) {
  if (!answer.ok) return html`<p class="error">${fault(answer)}</p>`;
  const {works, model, detail, fix, offered, latency_s: latency, reply_s: reply, tokens_out: tokens} = answer.data;
  return html`<p class=${works ? 'good' : 'error'}>${works ? html`${model || 'It'} answers` : 'It does not work'}
      ${' '}(<${Span} seconds=${latency} />)${reply === null ? '' : html`, a reply in <${Span} seconds=${reply} /> for ${tokens} tokens`}.
      ${' '}<${Prose} text=${detail} /></p>
    ${fix && !works && !detail.includes(fix) ? html`<p class="hint">To fix it: <${Prose} text=${fix} />.</p>` : null}
    ${offered.length ? html`<${Offered} backend=${backend} names=${offered} />` : null}`;
}

function Backend({backend, address, secret}) {
  const [answer, setAnswer] = useState(null);
  const now = status.data?.models.find(({name}) => name === backend);
  const trial = (ask) => async () => {
    setAnswer(null);
    setAnswer(await post('/api/models/test', asked(backend, address, secret, ask)));
  };
  const [kind, said] = !now ? ['', 'not in use'] : now.available ? ['up', 'answers'] : ['down', 'does not answer'];
  return html`<li data-backend=${backend}>
    <div class="bar"><${Dot} kind=${kind} label=${said} /><b>${backend}</b>
      <span class="hint wide">${now?.model ?? ''}${now ? '' : 'not in use'}</span>
      <div class="actions"><${Button} sends onClick=${trial(false)} aria-label=${`Test the connection of ${backend}`}>Test connection<//>
      ${backend in FILES ? null : html`<${Button} sends kind="quiet" onClick=${trial(true)} title="a few tokens, which may cost something"
        aria-label=${`Send ${backend} a test prompt`}>Send test prompt<//>`}</div></div>
    <div role="status">${answer ? html`<${Outcome} backend=${backend} answer=${answer} />` : null}</div>
  </li>`;
}

export function Chain() {
  const chain = new Set(status.data?.models.map(({name}) => name));
  const used = BACKENDS.filter(([backend]) => !(backend in FILES) || chain.has(backend) || rowOf(FILES[backend])?.is_set);
  if (!known.data) return null;
  return html`<ul class="plain chain" aria-label="Backends">
    ${used.map(([backend, address, secret]) => html`<${Backend} key=${backend} backend=${backend} address=${address} secret=${secret} />`)}</ul>`;
}
