// Verifies the evidence of a commit again on request. The server runs the verification and stores the last result.

import {fault, post, useData} from './api.js';
import {Button} from './forms.js';
import {Moment, Pill, Span} from './marks.js';
import {toast} from './toasts.js';
import {counted} from './text.js';
import {html, useEffect} from './ui.js';

const KINDS = ['verify_started', 'verify_cancelled', 'verified'];
const POLL_MS = 1000;
const TONE = {holds: 'done', 'does not hold': 'failed', 'not verified': 'warn', 'a draft': 'warn'};
const WORDS = {holds: 'agrees', 'does not hold': 'differs', 'not verified': 'not verified', 'a draft': 'draft'};
/** A sign for each result of a check, for users who cannot see the colours. */
const SIGN = {ok: '✓', CHANGED: '≠', FAILED: '✗', 'not checked': '–'};
const STANDS = {ok: 'unchanged', CHANGED: 'changed since then, which refutes nothing', FAILED: 'refuted', 'not checked': 'not checked'};

const Line = ({check}) => html`<li class=${check.standing === 'FAILED' ? 'refuted' : undefined}>
  <span class="sign" role="img" aria-label=${STANDS[check.standing]} title=${STANDS[check.standing]}>${SIGN[check.standing]}</span>
  <span><b>${check.what}</b> ${check.detail}</span></li>`;

const Lines = ({checks}) => html`<ul class="plain checks">${checks.map((check) => html`<${Line} key=${check.what} check=${check} />`)}</ul>`;

async function send(commit, act) {
  const answer = await post(`/api/commit/${commit}/verify${act}`);
  if (!answer.ok) toast(fault(answer), 'bad');
}

function Run({commit, run, reload}) {
  return html`<div class="verifying" aria-busy="true">
    <p><span role="status">Verifying: ${run.doing}</span> <span class="hint"><${Span} since=${run.since} /></span>
      <${Button} sends kind="small" onClick=${() => send(commit, '/cancel').then(reload)}>Cancel<//></p>
    ${run.checks.length ? html`<${Lines} checks=${run.checks} />` : null}</div>`;
}

function Ended({last}) {
  const told = last.checks.filter(({standing}) => standing !== 'ok');
  return html`<div class="verified">
    <p><${Pill} status=${TONE[last.judgement]}>${WORDS[last.judgement]}<//> <span>${last.sentence}</span>
      <small>verified <${Moment} at=${last.at} />, took <${Span} seconds=${last.took_s} /></small></p>
    ${told.length ? html`<${Lines} checks=${told} />` : null}
    <details><summary>${counted(last.checks.length, 'check')}</summary><${Lines} checks=${last.checks} /></details></div>`;
}

/**
 * The button that verifies a commit again, and the progress or the last result.
 * @param {{commit: string, children: (parts: {button: any, result: any}) => any}} props `commit` is the full id;
 * `children` places the button and the result
 */
export function VerifyAgain({commit, children}) {
  const found = useData(`/api/commit/${commit}/verification`, {}, KINDS);
  const {run = null, last = null, busy_with: busyWith = null} = found.data ?? {};
  const isRunning = Boolean(run);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(found.reload, POLL_MS);
    return () => clearInterval(timer);
  }, [isRunning, commit]);
  const begin = () => send(commit, '').then(found.reload);
  const why = busyWith ? `the commit of task ${busyWith} is being verified; only one can run at a time` : 'run its evidence again, in a sandbox of its own';
  return children({
    button: html`<${Button} sends kind="small" onClick=${begin} disabled=${isRunning || busyWith !== null} title=${why}>Verify again<//>`,
    result: run ? html`<${Run} commit=${commit} run=${run} reload=${found.reload} />`
      : last ? html`<${Ended} last=${last} />` : null,
  });
}
