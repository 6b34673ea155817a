"""Forged passes in JavaScript: none gets a passing verdict."""
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
