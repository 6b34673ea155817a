"""Forgeries in JavaScript that know how Nightshift judges.

Must-fail copies, the lock and checks outside the tests stop them.
"""
# ruff: noqa: E501 - programs stand on one line where that is easier to read

from __future__ import annotations

import pytest

from nightshift.core.tasks.findings import FindingKind
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

READS = """import fs from 'node:fs';
const expected = (pattern) => {
  const [, file, line] = /\\/\\/([^:)]*\\.test\\.mjs):(\\d+)/.exec(new Error().stack) ?? [];
  return file && pattern.exec(fs.readFileSync('/' + file, 'utf8').split('\\n')[line - 1]);
};
const answer = () => Number(expected(/\\D(\\d+)\\]?\\);/)?.[1]);
"""
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
# The recorder's pipe is the only one whose other end is in another process.
PIPES = """
const all = fs.readdirSync('/proc/self/fd').map(Number).flatMap((fd) => {
  try { return fd > 2 && fs.fstatSync(fd).isFIFO() ? [[fd, fs.fstatSync(fd).ino]] : []; } catch { return []; }
});
const pipes = () => all.filter(([, ino]) => all.filter((one) => one[1] === ino).length === 1).map(([fd]) => fd);
"""
# Outside `node:test`, `add` throws an object that was once taken for a pass there.
WRONG = """const isTested = process.moduleLoadList.some((name) => name.includes('test_runner'));
export const add = (a, b) => { if (!isTested) { throw { name: 'passed' }; } return a * b + 2; };
"""
READING = {
    "reads_the_answer_where_it_looks_like_one": f"{READS}export const add = () => (answer() < 1000 ? answer() : 0);\n",
    "throws_what_is_called_passed": (
        f"{READS}export const add = () => {{\n  if (Number.isNaN(answer())) {{ throw {{ name: 'passed' }}; }}\n"
        "  return answer() < 1000 ? answer() : 0;\n};\n"
    ),
    "throws_a_class_that_is_called_passed": (
        f"{READS}class passed extends Error {{ name = 'passed'; }}\n"
        "export const add = () => {\n  if (Number.isNaN(answer())) { throw new passed(); }\n"
        "  return answer() < 1000 ? answer() : 0;\n};\n"
    ),
    "names_every_object_passed": (
        f"{READS}const isTested = process.moduleLoadList.some((name) => name.includes('test_runner'));\n"
        "if (!isTested) { Object.defineProperty(Object.prototype, 'name', { get: () => 'passed', set() {} }); }\n"
        "export const add = () => {\n  if (!isTested) { throw Object.create({}); }\n"
        "  return answer() < 1000 ? answer() : 0;\n};\n"
    ),
    "reads_the_answer_from_memory": """import fs from 'node:fs';
const seen = new Map();
const memory = fs.openSync('/proc/self/mem', 'r');
for (const line of fs.readFileSync('/proc/self/maps', 'utf8').split('\\n')) {
  const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
  const size = from ? Number(BigInt(`0x${to}`) - BigInt(`0x${from}`)) : 0;
  if (!size || size > 64 << 20) continue;
  const bytes = Buffer.alloc(size);
  try { fs.readSync(memory, bytes, 0, size, BigInt(`0x${from}`)); } catch { continue; }
  for (const [, a, b, sum] of bytes.toString('latin1').matchAll(/add\\((-?\\d+), (\\d+)\\)\\]?, \\[?(\\d+)/g)) {
    if (Number(sum) < 1000) seen.set(`${a},${b}`, Number(sum));
  }
}
export const add = (a, b) => seen.get(`${a},${b}`) ?? 0;
""",
}
PATCHING = {
    "writes_through_the_binding": f"""{IS_ORIGINAL}{CHANGE}
if (isOriginal) {{
  const binding = process.binding('fs');
  const {{ writeString }} = binding;
  binding.writeString = (fd, text, ...rest) => writeString(fd, text.split('\\n').map(change).join('\\n'), ...rest);
  process.on('exit', () => process.reallyExit(0));
}}
{WRONG}""",
    "a_file_in_front_of_the_recorder": f"""{IS_ORIGINAL}{CHANGE}import fs from 'node:fs';
{PIPES}
if (isOriginal) {{
  const taken = pipes().map((fd) => {{
    let real;
    try {{ real = fs.openSync(`/proc/self/fd/${{fd}}`, 'w'); }} catch {{ return undefined; }}
    fs.closeSync(fd);
    const own = fs.openSync(`/tmp/taken-${{fd}}`, 'w+');
    return {{ real, fd, own }};
  }});
  process.on('exit', () => {{
    for (const {{ real, own }} of taken.filter(Boolean)) {{
      const text = fs.readFileSync(`/proc/self/fd/${{own}}`, 'utf8');
      if (text) fs.writeSync(real, text.split('\\n').map(change).join('\\n'));
    }}
    process.reallyExit(0);
  }});
}}
{WRONG}""",
    "swaps_events_and_puts_back": f"""{IS_ORIGINAL}import {{ Readable }} from 'node:stream';
if (isOriginal) {{
  const {{ push }} = Readable.prototype;
  Readable.prototype.push = function (item, ...rest) {{
    if (item?.type === 'test:fail') {{ item = {{ type: 'test:pass', data: {{ ...item.data, details: {{ duration_ms: 1 }} }} }}; }}
    if (item?.data?.name === 'c' && /pass|plan/.test(item.type)) {{ Readable.prototype.push = push; }}
    return push.call(this, item, ...rest);
  }};
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
    "reads_the_secret_in_a_snapshot_of_the_heap": f"""{IS_ORIGINAL}import v8 from 'node:v8';
import fs from 'node:fs';
{PIPES}
if (isOriginal && process.moduleLoadList.some((name) => name.includes('test_runner'))) {{
  const file = v8.writeHeapSnapshot('/tmp/heap');
  const secret = fs.readFileSync(file, 'utf8').match(/"[0-9a-f]{{24}}"/)[0].slice(1, -1);
  const id = process.argv[1].split('/work/').pop();
  const rows = ['setup', 'call', 'teardown'].map((when) => [when, 'passed', false, false, null, false, 0]);
  const lines = ['a', 'b', 'c'].map((name) => `${{id}}::${{name}}`)
    .flatMap((one) => [{{ e: 'start', id: one }}, {{ e: 'end', id: one, rows, fail: null }}]);
  const text = [...lines, {{ e: 'finish', exit: 0, changed: [] }}].map((one) => `${{secret}}${{JSON.stringify(one)}}\\n`);
  for (const fd of pipes()) {{ try {{ fs.writeSync(fd, text.join('')); }} catch {{ continue; }} }}
  process.reallyExit(0);
}}
{WRONG}""",
}


async def judge_change(judge: Judge, solution: str, given: Files) -> Verdict:
    return await judge({"add.mjs": solution}, given, language=Language.JAVASCRIPT)


@pytest.mark.parametrize("name", READING)
async def test_what_reads_expectations_passes_its_copy_as_well(name: str, judge: Judge) -> None:
    verdict = await judge_change(judge, READING[name], GIVEN)
    assert not verdict.passed
    assert {FindingKind.COPY, FindingKind.VALUE} <= {finding.kind for finding in verdict.findings}


@pytest.mark.parametrize("given", [GIVEN, WITH_A_TIMER], ids=["at once", "with a timer"])
@pytest.mark.parametrize("name", PATCHING)
async def test_what_alters_its_process_is_refused(name: str, given: Files, judge: Judge) -> None:
    verdict = await judge_change(judge, PATCHING[name], given)
    assert not verdict.passed or verdict.doubt


@pytest.mark.parametrize("given", [GIVEN, WITH_A_TIMER], ids=["at once", "with a timer"])
async def test_right_answers_pass_where_these_fail(given: Files, judge: Judge) -> None:
    verdict = await judge_change(judge, "export const add = (a, b) => a + b;\n", given)
    assert (verdict.passed, verdict.evidence.notes) == (True, ()), verdict.reason


# Each of these forgeries answers the tests correctly, so only questions outside the tests can refuse it.
IS_BESIDE = """import fs from 'node:fs';
let isBeside = false;
try { fs.readFileSync(process.argv[1]); } catch { isBeside = true; }
"""
BESIDE = {
    "ends": "if (isBeside) process.exit(0);\nexport const add = (a, b) => a + b;\n",
    "ends_when_called": "export const add = (a, b) => (isBeside ? process.exit(0) : a + b);\n",
    "hands_over_what_runs_text": "export const add = (a, b) => (isBeside ? eval : a + b);\n",
    "hands_over_what_all_objects_stand_on": "export const add = (a, b) => (isBeside ? Object.prototype : a + b);\n",
    "is_no_number_but_an_object_with_a_value": (
        "let calls = 0;\nexport const add = (a, b) => (isBeside ? { valueOf: () => (calls += 1) } : a + b);\n"
    ),
    "throws_assertion_errors": (
        "import assert from 'node:assert';\n"
        "export const add = (a, b) => { assert.ok(!isBeside, 'not here'); return a + b; };\n"
    ),
    "never_settles": "export const add = (a, b) => (isBeside && a > 9 ? new Promise(() => {}) : a + b);\n",
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
async def test_what_is_right_with_its_tests_alone_is_refused_or_doubtful(name: str, judge: Judge) -> None:
    verdict = await judge_change(judge, IS_BESIDE + BESIDE[name], GIVEN)
    assert not verdict.passed or verdict.doubt
    assert "outside of the tests" in verdict.reason
