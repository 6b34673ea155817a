"""Right answers in JavaScript are accepted, whatever the tests' style; other answers are refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.tasks.task import Change, Files, Language
from nightshift.core.tasks.verdicts import Verdict
from nightshift.sandbox.node_program import Node
from tests.support.sandboxes import Judge, runtime

HEAD = "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
ADD = {"add.mjs": "export const add = (a, b) => a + b;\n"}
USES = f"{HEAD}import {{ add }} from '../add.mjs';\n"

WAYS = Path(__file__).parent / "ways"
"""Test files in common styles; the first line of each lists the names of its tests."""
PARSE = {
    "parse.mjs": """
export function parse(text) {
  const n = Number(text);
  if (Number.isNaN(n)) {
    throw new RangeError(`bad: ${text}`);
  }
  return n;
}
"""
}


async def js(judge: Judge, change: Change, given: Files, base: Files | None = None, **more: Any) -> Verdict:
    return await judge(change, given, base, language=Language.JAVASCRIPT, **more)


@pytest.mark.parametrize("way", sorted(path.stem for path in WAYS.iterdir()))
async def test_a_right_answer_is_accepted(way: str, judge: Judge) -> None:
    text = (WAYS / f"{way}.mjs").read_text()
    names = text.partition("\n")[0].removeprefix("// ").split(" | ")
    verdict = await js(judge, {**ADD, **PARSE}, {"test/way.test.mjs": text, "test/data.txt": "12345"})
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert [result.id for result in verdict.results] == [f"test/way.test.mjs::{name}" for name in names]
    assert verdict.evidence.twins == len(names)


async def test_a_wrong_answer_is_refused_with_the_difference_and_the_line(judge: Judge) -> None:
    text = f"{USES}\ntest('sums', () => {{\n  assert.deepEqual([add(2, 3)], [5]);\n}});\n"
    verdict = await js(judge, {"add.mjs": "export const add = (a, b) => a * b;\n"}, {"test/add.test.mjs": text})
    (failure,) = verdict.failures
    assert (failure.id, failure.kind) == ("test/add.test.mjs::sums", "AssertionError")
    assert "+   6\n-   5" in failure.message
    assert failure.frame.startswith("test/add.test.mjs:6 in ")
    assert ">    6   assert.deepEqual([add(2, 3)], [5]);" in failure.excerpt
    assert "node:" not in failure.frame


REFUSED = {
    "only skipped": (f"{USES}test.skip('x', () => {{ assert.equal(add(1, 1), 2); }});\n", "no test ran"),
    "an error after the test": (
        (f"{USES}test('x', () => {{\n  setTimeout(() => {{ throw new Error('late'); }}, 20);\n"
        "  assert.equal(add(1, 1), 2);\n});\n"),
        "something failed after its test had ended",
    ),
    "something left open": (
        f"{USES}test('x', () => {{ setInterval(() => {{}}, 50); assert.equal(add(1, 1), 2); }});\n",
        "cut off after 2 s in which they used no processor time",
    ),
    "too much memory": (
        f"{USES}test('x', () => {{ const all = []; for (;;) all.push(new Array(1e5).fill(all.length)); }});\n",
        "used more than 256 MB of memory",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
async def test_what_proves_nothing_is_refused(what: str, judge: Judge) -> None:
    text, reason = REFUSED[what]
    cpu_s = 2 if "cut off" in reason else 20
    memory_mb = 256 if "memory" in reason else 1024
    verdict = await js(judge, ADD, {"test/a.test.mjs": text}, cpu_s=cpu_s, memory_mb=memory_mb)
    assert not verdict.passed
    assert reason in verdict.reason


async def test_a_script_of_assertions_is_a_test_of_its_own_name(judge: Judge) -> None:
    script = (
        "import assert from 'node:assert/strict';\nimport { add } from '../add.mjs';\n\nassert.equal(add(2, 2), 4);\n"
    )
    right = await js(judge, ADD, {"test/add.mjs": script})
    assert (right.passed, right.evidence.ids, right.evidence.twins) == (True, ("test/add.mjs::add.mjs",), 1), (
        right.reason
    )
    wrong = await js(judge, {"add.mjs": "export const add = () => 5;\n"}, {"test/add.mjs": script})
    (failure,) = wrong.failures
    assert (failure.kind, failure.frame) == ("AssertionError", "test/add.mjs:4 in <module>")
    left = await js(judge, {"add.mjs": "process.exit(0);\nexport const add = () => 5;\n"}, {"test/add.mjs": script})
    assert not left.passed or left.doubt


async def test_a_command_that_runs_node_test_is_judged_by_its_files(judge: Judge) -> None:
    tests = USES.replace("mjs", "js") + "test('sums', () => { assert.equal(add(2, 2), 4); });\n"
    package = '{"type": "module", "scripts": {"test": "node --test"}}'
    base = {"package.json": package, "test/add.test.js": tests}
    right, wrong = {"add.js": ADD["add.mjs"]}, {"add.js": "export const add = () => 5;\n"}
    for command in (("npm", "test"), ("node", "--test"), ("node", "--test", "test/")):
        assert (await js(judge, right, {}, base, command=command)).evidence.twins == 1
    assert not (await js(judge, wrong, {}, base, command=("npm", "test"))).passed


async def test_self_written_tests_must_fail_without_the_change(judge: Judge) -> None:
    text = f"{USES}test('sums', () => {{ assert.equal(add(2, 2), 4); }});\n"
    idle = f"{HEAD}import '../add.mjs';\ntest('nothing', () => {{ assert.equal(1 + 1, 2); }});\n"
    base = {"add.mjs": "export const add = () => 5;\n"}
    assert (await js(judge, ADD, {}, base, own={"test/own.test.mjs": text})).passed
    weak = await js(judge, ADD, {}, base, own={"test/own.test.mjs": idle})
    assert "pass without the change" in weak.reason


async def test_typescript_runs_where_node_can_and_is_refused_with_the_version_elsewhere(judge: Judge) -> None:
    code = {"add.ts": "export type N = number;\nexport const add = (a: N, b: N): N => a + b;\n"}
    text = (
        f"{HEAD}import {{ add, type N }} from '../add.ts';\n"
        "test('x', (): void => { assert.equal(add(1, 2) as N, 3); });\n"
    )
    node = runtime().node
    assert node, "install nodejs: this test needs it"
    if node.runs_types:
        verdict = await js(judge, code, {"test/add.test.ts": text})
        assert (verdict.passed, verdict.evidence.twins) == (True, 1), verdict.reason
    else:
        with pytest.raises(SandboxError, match=r"needs Node.js 22.6 or newer"):
            await js(judge, code, {"test/add.test.ts": text})


async def test_what_tests_replace_in_process_is_their_own_affair(judge: Judge) -> None:
    code = {"run.mjs": "export function run(ok) {\n  if (!ok) { process.exit(3); }\n  return process.cwd();\n}\n"}
    text = (
        f"{HEAD}import {{ mock }} from 'node:test';\nimport {{ run }} from '../run.mjs';\n"
        "test('exits', () => {\n  process.exit = mock.fn();\n  process.cwd = () => 'here';\n"
        "  assert.equal(run(false), 'here');\n  assert.deepEqual(process.exit.mock.calls[0].arguments, [3]);\n});\n"
    )
    verdict = await js(judge, code, {"test/run.test.mjs": text})
    assert verdict.passed, verdict.reason


def test_typescript_is_refused_where_node_is_too_old() -> None:
    old, flagged, new = (Node(path="/usr/bin/node", version=version) for version in ("20.20.2", "22.7.0", "22.18.0"))
    assert "needs Node.js 22.6 or newer; this machine has 20.20.2" in old.refusal("test/a.test.ts")
    assert not old.refusal("test/a.test.mjs")
    assert (flagged.refusal("a.mts"), new.refusal("a.cts")) == ("", "")
    assert "--experimental-strip-types" in flagged.flags
    assert "--experimental-strip-types" not in new.flags


ORDINARY = Path(__file__).parent / "ordinary"
"""Programs with their tests. Each file starts with a line of four slashes and its path; its text follows."""


def program(name: str) -> dict[str, str]:
    parts = f"\n{(ORDINARY / f'{name}.txt').read_text()}".split("\n//// ")[1:]
    return {path: f"{text}\n" for path, _, text in (part.partition("\n") for part in parts)}


@pytest.mark.parametrize("name", sorted(path.stem for path in ORDINARY.iterdir()))
async def test_an_ordinary_program_is_accepted(name: str, judge: Judge) -> None:
    files = program(name)
    given = {path: text for path, text in files.items() if path.startswith("test/")}
    change = {path: text for path, text in files.items() if path not in given}
    verdict = await judge(change, given, language=Language.JAVASCRIPT, cpu_s=30)
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert verdict.evidence.twins
