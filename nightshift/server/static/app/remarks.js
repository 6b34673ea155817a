// Grave findings of readers that a commit leaves open: how many beside its label, and each in words.

import {Pill} from './parts.js';
import {html} from './ui.js';

const TONES = {critical: 'failed', high: 'warn'};

/** A pill for each gravity, beside the label of the verdict. */
export const OpenCounts = ({remarks}) => Object.keys(TONES).map((severity) => {
  const count = remarks.filter((one) => one.severity === severity).length;
  return count ? html`<${Pill} key=${severity} status=${TONES[severity]}>${count} ${severity} left open<//>` : null;
});

/** Each finding: whose it is, where, why, and what was suggested. */
export const OpenRemarks = ({remarks}) => (remarks.length ? html`<ul class="plain left-open" aria-label="Findings left open">
  ${remarks.map((one, index) => html`<li key=${index}><b>${one.severity}</b> <span class="hint">${one.reader}</span> <code>${one.place}</code> ${one.reason}
    ${one.fix ? html` <span class="hint">Suggested: ${one.fix}</span>` : null}</li>`)}</ul>` : null);

/** Existing tests that a commit changed because they contradicted its task. */
export const ChangedTests = ({paths, what = 'Changed'}) => (paths.length ? html`<p class="hint">${what} existing tests: ${paths.map((path) => html`<code key=${path}>${path}</code> `)}</p>` : null);
