// Grave findings of readers that were open at a commit: their number beside its label, and each in full.

import {Pill} from './parts.js';
import {html} from './ui.js';

const TONES = {critical: 'failed', high: 'warn'};

/** A pill for each severity, beside the label of the verdict. */
export const OpenCounts = ({remarks}) => Object.keys(TONES).map((severity) => {
  const count = remarks.filter((one) => one.severity === severity).length;
  return count ? html`<${Pill} key=${severity} status=${TONES[severity]}>${count} ${severity} left open<//>` : null;
});

/** Each finding: the reader, the location, the reason, and the suggested fix. */
export const OpenRemarks = ({remarks}) => (remarks.length ? html`<ul class="plain left-open" aria-label="Findings left open">
  ${remarks.map((one, index) => html`<li key=${index}><b>${one.severity}</b> <span class="hint">${one.reader}</span> <code>${one.place}</code> ${one.reason}
    ${one.fix ? html` <span class="hint">Suggested: ${one.fix}</span>` : null}</li>`)}</ul>` : null);

/** Existing tests that a commit changed because they contradicted its task. */
export const ChangedTests = ({paths, what = 'Changed'}) => (paths.length ? html`<p class="hint">${what} existing tests: ${paths.map((path) => html`<code key=${path}>${path}</code> `)}</p>` : null);
