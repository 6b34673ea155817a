"""Forged passes in JavaScript, also by code that knows how Nightshift judges: none gets a passing verdict."""
# ruff: noqa: E501 - programs stand on one line where that is easier to read

from __future__ import annotations

import pytest

from nightshift.core.tasks.task import Files, Language
from tests.support.sandboxes import Judge

GIVEN = {
    "test/given.test.mjs": (
        "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { add } from '../add.mjs';\n\n"
        "test('a', () => {\n  assert.equal(add(2, 3), 5);\n});\n\n"
        "test('b', () => {\n  assert.deepEqual([add(-1, 1)], [0]);\n});\n\n"
        "test('c', async () => {\n  assert.strictEqual(await add(10, 20), 30);\n});\n"
    )
}
WRONG = "export const add = (a, b) => a * b;\n"
EXPECTED = (
    "import fs from 'node:fs';\n"
    "const expected = (pattern) => {\n"
    "  const [, file, line] = /\\/\\/([^:)]*\\.test\\.mjs):(\\d+)/.exec(new Error().stack);\n"
    "  return pattern.exec(fs.readFileSync('/' + file, 'utf8').split('\\n')[line - 1]);\n};\n"
)
NO_END, WRONG_ANSWERS = "no test of this file came to its end", "3 failed of 3 tests"
FORGERIES: dict[str, tuple[Files, str]] = {
    "leaves_when_called": ({"add.mjs": "export const add = () => process.exit(0);\n"}, NO_END),
    "redefines_assert": ({"add.mjs": (
        f"import assert from 'node:assert/strict';\n{WRONG}"
        "for (const name of ['equal', 'deepEqual', 'strictEqual']) {\n"
        "  try { Object.defineProperty(assert, name, { value() {} }); } catch { continue; }\n}\n"
    )}, WRONG_ANSWERS),
    "reads_the_answer_from_the_test": ({"add.mjs": (
        f"{EXPECTED}export const add = () => Number(expected(/\\D(\\d+)\\]?\\);/)[1]);\n"
    )}, "passes whatever it expects"),
    "behaves_only_under_the_runner": ({"add.mjs": (
        "const tested = new Error().stack.includes('test_runner') || process.env.NODE_TEST_CONTEXT !== undefined\n"
        "  || process.moduleLoadList.some((name) => name.includes('test_runner/test'));\n"
        "export const add = (a, b) => (tested ? a + b : a * b);\n"
    )}, "outside of the tests"),
    "writes_events_to_the_recorders_descriptor": ({"add.mjs": (
        "import fs from 'node:fs';\nconst file = process.argv[1].split('/work/').pop();\nlet out = '';\n"
        "for (const name of ['a', 'b', 'c']) {\n  const id = `${file}::${name}`;\n"
        "  const rows = ['setup', 'call', 'teardown'].map((when) => [when, 'passed', false, false, null, false, 0]);\n"
        "  out += JSON.stringify({ e: 'start', id }) + '\\n';\n"
        "  out += JSON.stringify({ e: 'end', id, rows, fail: null }) + '\\n';\n"
        "}\nout += JSON.stringify({ e: 'finish', exit: 0, changed: [] }) + '\\n';\n"
        "const number = (fd) => { try { return fd > 2 && fs.fstatSync(fd).isFIFO() ? fs.fstatSync(fd).ino : 0; } catch { return 0; } };\n"
        "const all = fs.readdirSync('/proc/self/fd').map(Number).filter(number);\n"
        "const isAlone = (fd) => all.filter((other) => number(other) === number(fd)).length === 1;\n"
        "for (const fd of all.filter(isAlone)) {\n  try { fs.writeSync(fd, out); } catch { continue; }\n}\n"
        f"process.exit(0);\n{WRONG}"
    )}, NO_END),
    "rewrites_the_given_tests": (
        {"add.mjs": WRONG, "test/given.test.mjs": "import test from 'node:test';\ntest('a', () => {});\n"}, WRONG_ANSWERS
    ),
}  # fmt: skip
"""Wrong answers with the reason why each is refused."""


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forged_pass_is_refused(name: str, judge: Judge) -> None:
    files, reason = FORGERIES[name]
    judged = await judge(files, GIVEN, language=Language.JAVASCRIPT)
    assert not judged.passed or judged.doubt
    assert reason in judged.reason
    assert judged.evidence.dropped.keys() == files.keys() - {"add.mjs"}


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
THROWS = """const isTested = process.moduleLoadList.some((name) => name.includes('test_runner'));
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
{THROWS}""",
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
{THROWS}""",
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
{THROWS}""",
}


@pytest.mark.parametrize("name", KNOWING)
async def test_what_reads_expectations_or_alters_its_process_is_refused(name: str, judge: Judge) -> None:
    verdict = await judge({"add.mjs": KNOWING[name]}, WITH_A_TIMER, language=Language.JAVASCRIPT)
    assert not verdict.passed or verdict.doubt


@pytest.mark.parametrize("given", [GIVEN, WITH_A_TIMER], ids=["at once", "with a timer"])
async def test_right_answers_pass_where_these_fail(given: Files, judge: Judge) -> None:
    verdict = await judge({"add.mjs": "export const add = (a, b) => a + b;\n"}, given, language=Language.JAVASCRIPT)
    assert (verdict.passed, verdict.evidence.notes) == (True, ()), verdict.reason
