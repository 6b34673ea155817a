// The verdict of a step: each test with its result, the distinct failures as models see them, and the evidence.

import {Pill, Span} from '../../app/parts.js';
import {counted, words} from '../../app/text.js';
import {classes, html, useEffect, useRef} from '../../app/ui.js';
import {go, place} from './place.js';

const MOST_OPEN = 3;
const STATUS = {passed: 'ok', not_reached: 'warn'};

/** One distinct failure, as models see it. */
function Failure({failure, open}) {
  const parts = [failure.message, failure.frame, failure.excerpt, failure.output].filter(Boolean);
  return html`<details open=${open}><summary><code>${failure.id}</code> ${failure.kind}</summary>
    <pre tabindex="0">${parts.join('\n\n')}</pre></details>`;
}

function Test({test}) {
  const isChosen = place.value.item === test.id;
  const row = useRef(null);
  useEffect(() => { if (isChosen) row.current.scrollIntoView({block: 'nearest'}); }, [isChosen]);
  return html`<tr ref=${row} class=${classes({at: isChosen})} aria-current=${isChosen ? 'true' : undefined}>
    <td><${Pill} status=${STATUS[test.result] ?? 'failed'}>${words(test.result)}<//></td>
    <td class="what"><button type="button" class="bare test" title="link to this test" onClick=${() => go({tab: 'tests', item: isChosen ? '' : test.id})}><code>${test.id}</code></button>
      ${test.message ? html`<small>${test.message}</small>` : null}</td>
    <td class="number">${test.duration_s ? html`<${Span} seconds=${test.duration_s} />` : ''}</td></tr>`;
}

const Pairs = ({title, of}) => (Object.keys(of).length ? html`<dt>${title}</dt><dd>${Object.entries(of).map(([name, value]) => html`
  <div><code>${name}</code> ${words(value)}</div>`)}</dd>` : null);

function Evidence({evidence}) {
  const {held_out: heldOut, held_from: from} = evidence;
  return html`<dl class="evidence">
    <dt>Label</dt><dd>${words(evidence.label)}</dd>
    <dt>Sandbox</dt><dd>${evidence.sandbox}${evidence.python ? `, Python ${evidence.python}` : ''}</dd>
    <dt>Tests</dt><dd>${counted(evidence.ids, 'id')}${evidence.twins ? `, ${counted(evidence.twins, 'must-fail copy', 'must-fail copies')}` : ''}</dd>
    ${heldOut ? html`<dt>Held out</dt><dd>${counted(heldOut, 'case')} that no prompt had shown${from.length ? `, from ${from.join(', ')}` : ''}</dd>` : null}
    <dt>Tree</dt><dd><code>${evidence.tree.slice(0, 16)}</code> ${evidence.complete ? 'the whole repository' : 'what the tests reach'}</dd>
    <${Pairs} title="Suites" of=${evidence.suites} /><${Pairs} title="Left out" of=${evidence.dropped} />
    ${evidence.notes.length ? html`<dt>Notes</dt><dd>${evidence.notes.map((note) => html`<div>${note}</div>`)}</dd>` : null}
  </dl>`;
}

/** The verdict. @param {{verdict: object}} props the `verdict` of a step, as the API sends it */
export function Tests({verdict}) {
  return html`<p><${Pill} status=${verdict.passed ? 'done' : 'failed'}>${verdict.passed ? 'passed' : 'not passed'}<//> ${verdict.reason}${' '}
      <span class="hint">${verdict.evidence.sandbox} · <${Span} seconds=${verdict.duration_s} /></span></p>
    ${verdict.failures.map((failure, index) => html`<${Failure} key=${failure.id} failure=${failure} open=${index < MOST_OPEN} />`)}
    ${verdict.weak.length ? html`<p class="notice">These self-written tests are too weak: ${verdict.weak.join(', ')}</p>` : null}
    ${verdict.tests.length ? html`<div class="scroll"><table class="tests-table" aria-label="Tests"><tbody>${verdict.tests.map((test) => html`
      <${Test} key=${test.id} test=${test} />`)}</tbody></table></div>` : null}
    ${verdict.left_out ? html`<p class="hint">and ${counted(verdict.left_out, 'more test')} that passed</p>` : null}
    ${verdict.unseen.length ? html`<details><summary>Held-out cases; no model sees them</summary><pre tabindex="0">${verdict.unseen.join('\n')}</pre></details>` : null}
    <details><summary>Evidence</summary><${Evidence} evidence=${verdict.evidence} /></details>`;
}
