"""Forgeries in JavaScript that know how Nightshift judges.

Must-fail copies, the lock and checks outside the tests stop them.
"""
# ruff: noqa: E501 - programs stand on one line where that is easier to read

from __future__ import annotations

import pytest

from nightshift.core.tasks.task import Files, Language
from nightshift.core.tasks.verdicts import Verdict
from tests.support.sandboxes import Judge

HEAD = "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { add } from '../add.mjs';\n\n"
GIVEN = {
    "test/given.test.mjs": (
        f"{HEAD}test('a', () => {{\n  assert.equal(add(2, 3), 5);\n}});\n\n"
        "test('b', () => {\n  assert.deepEqual([add(-1, 1)], [0]);\n});\n\n"
        "test('c', async () => {\n  assert.strictEqual(await add(10, 20), 30);\n});\n"
    )
}
WITH_A_TIMER = {
    path: text.replace("'a', () => {", "'a', async () => {\n  await new Promise((end) => setTimeout(end, 1));")
    for path, text in GIVEN.items()
}
"""The tests that the owner supplies, changed so that the test `a` waits for a timer."""

# Finds out whether this process runs the original tests: their file contains the right result of a well-known sum, and
# a must-fail copy contains a wrong one.
IS_ORIGINAL = """import { readFileSync } from 'node:fs';
const isOriginal = readFileSync(process.argv[1], 'utf8').includes('add(2, 3), 5)');
"""
CHANGE = """
const change = (line) => {
  const at = line.indexOf('{');
  if (at < 0) return line;
  const event = JSON.parse(line.slice(at));
  if (event.e === 'end') {
    event.rows = ['setup', 'call', 'teardown'].map((when) => [when, 'passed', false, false, null, false, 0]);
    event.fail = null;
  } else if (event.e === 'finish') { event.exit = 0; }
  return line.slice(0, at) + JSON.stringify(event);
};
"""
# Outside `node:test`, `add` throws an object that was once taken for a pass there.
WRONG = """const isTested = process.moduleLoadList.some((name) => name.includes('test_runner'));
export const add = (a, b) => { if (!isTested) { throw { name: 'passed' }; } return a * b + 2; };
"""
KNOWING = {
    "writes_through_the_binding": f"""{IS_ORIGINAL}{CHANGE}
if (isOriginal) {{
  const binding = process.binding('fs');
  const {{ writeString }} = binding;
  binding.writeString = (fd, text, ...rest) => writeString(fd, text.split('\\n').map(change).join('\\n'), ...rest);
  process.on('exit', () => process.reallyExit(0));
}}
{WRONG}""",
    "swallows_failures_and_puts_back": f"""{IS_ORIGINAL}import {{ AsyncResource }} from 'node:async_hooks';
if (isOriginal) {{
  const {{ runInAsyncScope }} = AsyncResource.prototype;
  AsyncResource.prototype.runInAsyncScope = function (fn, self, ...rest) {{
    try {{
      const result = runInAsyncScope.call(this, fn, self, ...rest);
      return typeof result?.then === 'function' ? result.then((value) => value, () => {{}}) : result;
    }} catch {{ return undefined; }}
  }};
  process.prependListener('beforeExit', () => {{ AsyncResource.prototype.runInAsyncScope = runInAsyncScope; }});
}}
{WRONG}""",
    "empties_the_tests_with_the_debugger": f"""{IS_ORIGINAL}import {{ Session }} from 'node:inspector';
if (isOriginal) {{
  const session = new Session();
  session.connect();
  const scripts = [];
  session.on('Debugger.scriptParsed', ({{ params }}) => {{ if (params.url.includes('.test.mjs')) scripts.push(params.scriptId); }});
  session.post('Debugger.enable');
  for (const scriptId of scripts) {{
    session.post('Debugger.getScriptSource', {{ scriptId }}, (_, {{ scriptSource }}) => {{
      const emptied = scriptSource.replace(/assert\\.\\w+\\(.*\\);/g, ';');
      session.post('Debugger.setScriptSource', {{ scriptId, scriptSource: emptied }}, () => {{}});
    }});
  }}
}}
{WRONG}""",
}


async def judge_change(judge: Judge, solution: str, given: Files) -> Verdict:
    return await judge({"add.mjs": solution}, given, language=Language.JAVASCRIPT)


@pytest.mark.parametrize("name", KNOWING)
async def test_what_reads_expectations_or_alters_its_process_is_refused(name: str, judge: Judge) -> None:
    verdict = await judge_change(judge, KNOWING[name], WITH_A_TIMER)
    assert not verdict.passed or verdict.doubt


@pytest.mark.parametrize("given", [GIVEN, WITH_A_TIMER], ids=["at once", "with a timer"])
async def test_right_answers_pass_where_these_fail(given: Files, judge: Judge) -> None:
    verdict = await judge_change(judge, "export const add = (a, b) => a + b;\n", given)
    assert (verdict.passed, verdict.evidence.notes) == (True, ()), verdict.reason
