// Drafts: changes that did not pass their tests and are on the branches of their tasks.

import {Copy, quoted} from './copy.js';
import {html} from './ui.js';

/** True if a commit (a row of `/api/commits`) is a draft. */
export const isDraft = (commit) => commit.label === 'draft';

/** Describe how many tests of a draft passed. */
export function testsOf({tests, tests_passed: passed}) {
  if (!tests) return 'no test was run';
  return tests > 1 ? `${passed} of ${tests} tests pass` : `${passed} of 1 test passes`;
}

const Command = ({text, what}) => html`<p class="command"><code>${text}</code><${Copy} text=${text} what=${what} /></p>`;

/** The failing tests of a draft, and the command that shows its diff. */
export const DraftFacts = ({commit}) => html`
  ${commit.failing.length ? html`<p class="failing">fails: ${commit.failing.map((name) => html`<code key=${name}>${name}</code> `)}</p>` : null}
  <${Command} text=${`git -C ${quoted(commit.repo)} diff ${commit.base.slice(0, 12)} ${quoted(commit.branch)}`} what="the command that shows it" />
  <p class="hint">It did not pass and is not integrated unless you ask.</p>`;
