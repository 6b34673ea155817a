// Serious findings of the readers (the models that review or audit a change) that were still open when a commit was
// made. They are shown as numbers beside the commit's label, and as a list.

import {Pill} from './parts.js';
import {html} from './ui.js';

const TONES = {critical: 'failed', high: 'warn'};

/** The number of open findings of each severity, beside the label of the verdict. */
export const OpenCounts = ({remarks}) => Object.keys(TONES).map((severity) => {
  const count = remarks.filter((one) => one.severity === severity).length;
  return count ? html`<${Pill} key=${severity} status=${TONES[severity]}>${count} ${severity} left open<//>` : null;
});

/** The list of open findings, each with its reader, its location, the reason, and the suggested fix. */
export const OpenRemarks = ({remarks}) => (remarks.length ? html`<ul class="plain left-open" aria-label="Findings left open">
  ${remarks.map((one, index) => html`<li key=${index}><b>${one.severity}</b> <span class="hint">${one.reader}</span> <code>${one.place}</code> ${one.reason}
    ${one.fix ? html` <span class="hint">Suggested: ${one.fix}</span>` : null}</li>`)}</ul>` : null);

/** Existing tests that a commit changed because they contradicted its task, or that it removed. */
export const ChangedTests = ({paths, what = 'Changed'}) => (paths.length ? html`<p class="hint">${what} existing tests: ${paths.map((path) => html`<code key=${path}>${path}</code> `)}</p>` : null);
