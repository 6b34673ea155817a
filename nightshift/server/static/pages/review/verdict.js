// The evidence for and against a commit: its risk with the reasons, its tests, and its findings.

import {Copy, Lines, quoted} from '../../app/copy.js';
import {DraftFacts, isDraft, testsOf} from '../../app/draft.js';
import {Label, Moment, Pill} from '../../app/parts.js';
import {OpenRemarks} from '../../app/remarks.js';
import {counted} from '../../app/text.js';
import {VerifyAgain} from '../../app/verify.js';
import {html} from '../../app/ui.js';

const TONE = {high: 'failed', medium: 'warn', low: ''};

/** The level of risk in one word. */
export const Level = ({risk}) => html`<${Pill} status=${TONE[risk.level]} title=${`${counted(risk.points, 'point')} of risk`}>${risk.level}<//>`;

const Reason = ({reason}) => html`<li><span class="points number">${reason.points}</span><span>${reason.text}<small>${reason.why}</small></span></li>`;

const Paths = ({title, paths}) => (paths.length ? html`<dt>${title}</dt><dd>${paths.map((path) => html`<code key=${path}>${path}</code> `)}</dd>` : null);

/** The cards with the risk and the evidence of a commit. @param {{commit: object}} props a row of `/api/commits` */
export function Verdict({commit}) {
  const {risk} = commit;
  const command = `git -C ${quoted(commit.repo)} show ${commit.commit.slice(0, 12)}`;
  return html`<aside class="verdict" aria-label="Verdict">
    <section class="card" aria-label="Risk"><div class="card-head"><h3>Risk</h3><${Level} risk=${risk} /><span class="hint">${counted(risk.points, 'point')}</span></div>
      ${risk.reasons.length ? html`<ul class="plain reasons">${risk.reasons.map((reason) => html`<${Reason} key=${reason.text} reason=${reason} />`)}</ul>`
    : html`<p class="empty">Nothing speaks against it.</p>`}</section>
    <section class="card" aria-label="Evidence"><div class="card-head"><h3>Evidence</h3><${Label} label=${commit.label} /></div>
      <dl>${commit.tests_passed === null ? null : html`<dt>tests</dt><dd>${isDraft(commit) ? testsOf(commit) : `${commit.tests_passed} passed`}${commit.held_out ? `, ${commit.held_out} held out` : ''}</dd>`}
        <${Paths} title="agent's tests" paths=${commit.own_tests} /><${Paths} title="changed tests" paths=${commit.changed_tests} />
        <${Paths} title="removed tests" paths=${commit.removed_tests} /><${Paths} title="packages" paths=${commit.packages} /><${Paths} title="may break" paths=${commit.allowed} />
        <dt>branch</dt><dd>${commit.integrated ? commit.target : html`<b>${commit.branch}</b>${commit.discarded_at ? ', discarded' : commit.target ? `, for ${commit.target}` : ''}`}</dd>
        ${commit.file_count === null ? null : html`<dt>size</dt><dd>${counted(commit.file_count, 'file')} <${Lines} added=${commit.added} removed=${commit.removed} /></dd>`}
        <dt>made</dt><dd><${Moment} at=${commit.at} /></dd>
        ${commit.reverted_by ? html`<dt>reverted by</dt><dd><code>${commit.reverted_by.slice(0, 10)}</code></dd>` : null}</dl>
      <${OpenRemarks} remarks=${commit.remarks} />
      ${isDraft(commit) ? html`<${DraftFacts} commit=${commit} />`
    : html`<p class="command"><code>${command}</code><${Copy} text=${command} what="the command" /></p>`}
      <${VerifyAgain} key=${commit.commit} commit=${commit.commit}>${({button, result}) => html`
        <p class="actions">${isDraft(commit) ? null : html`<a class="button small" href=${`/api/commit/${commit.commit}/proof`} download title="one file for others: the change, its evidence, and how to check both">Proof</a>`}${button}</p>${result}`}<//></section>
  </aside>`;
}
