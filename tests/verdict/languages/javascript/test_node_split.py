"""Right answers with the tested code in a process of its own: they pass, and what is plain there is judged there."""
# ruff: noqa: E501 - programs stand on one line where that is easier to read

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.code.javascript import parse
from nightshift.core.tasks.task import Language
from nightshift.verdict.languages.javascript import names
from nightshift.verdict.languages.javascript.split import Place, helpers, is_eligible, is_module, runs_typed
from tests.support.sandboxes import Judge

ORDINARY = Path(__file__).parent / "ordinary"
"""Programs with their tests; the first line says how many tests can be judged in one process with the code alone."""
HEAD = "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { add } from '../add.mjs';\n"


def program(name: str) -> tuple[int, dict[str, str]]:
    head, *parts = (ORDINARY / f"{name}.txt").read_text().split("\n//// ")
    return int(head.removeprefix("unjudged: ")), {
        path: f"{text}\n" for path, _, text in (part.partition("\n") for part in parts)
    }


@pytest.mark.parametrize("name", sorted(path.stem for path in ORDINARY.iterdir()))
async def test_an_ordinary_program_passes_and_is_judged_apart(name: str, judge: Judge) -> None:
    unjudged, files = program(name)
    given = {path: text for path, text in files.items() if path.startswith("test/")}
    change = {path: text for path, text in files.items() if path not in given}
    verdict = await judge(change, given, language=Language.JAVASCRIPT, cpu_s=30)
    assert verdict.passed, (verdict.reason, verdict.failures)
    total = len(verdict.results)
    note = f"{unjudged} of {total} tests were judged in one process with the code alone"
    assert [note for note in verdict.evidence.notes if "judged" in note] == ([note] if unjudged else [])


def eligible(body: str, tests: tuple[str, ...] = ("test/a.test.mjs",), *, path: str = "test/a.test.mjs") -> bool:
    text = HEAD + body
    root = parse(path, text)
    assert not root.has_error
    place = Place(present={"add.mjs", "data.json", *tests}, tests=tests, text_of=lambda _path: None)
    return is_eligible(path, text, root, names.read(root), place)


@pytest.mark.parametrize(
    "body",
    [
        "test('x', () => { assert.equal(add(1, 1), 2); });",
        "import path from 'node:path';\nimport { once } from 'events';",
        "test('x', (t) => { t.diagnostic(t.name); });",
        "test('x', async (t) => { await t.test('y', () => {}); });",
        "test('x', { skip: true }, () => {});\ntest.skip('y', () => {});",
        "const stack = new Stack(), plan = 1, error = x.error;",
        "const { signal } = x;\nnew Date(0);\nconst more = await import('../add.mjs');",
    ],
)
def test_what_means_the_same_apart_is_run_so(body: str) -> None:
    assert eligible(body)


@pytest.mark.parametrize(
    "body",
    [
        "import fs from 'node:fs';", "import { sleep } from 'node:timers/promises';", "import x from 'left-pad';",
        "import x from '../data.json';", "import x from '../none.mjs';", "import { mock } from 'node:test';",
        "const m = await import(name);", "const m = require(name);", "const p = require.resolve('../add.mjs');",
        "setTimeout(f, 1);", "Date.now();", "new Date();", "Math.random();", "process.exit(1);", "console.log(1);",
        "globalThis.x = 1;", "import.meta.url;", "eval('1');", "new Function('a', 'b');", "structuredClone(add);",
        "test('x', (t) => { t.mock.fn(); });", "test('x', (t) => { t.plan(2); });", "test('x', (t) => { check(t); });",
        "test('x', ({ mock }) => {});", "test('x', { timeout: 5 }, () => {});", "test.only('x', () => {});",
        "assert.match(error.stack, /a/);", "Array.prototype.last = f;", "await Promise.resolve();", "new Proxy({}, {});",
    ],
)  # fmt: skip
def test_what_may_mean_something_else_apart_is_not(body: str) -> None:
    assert not eligible(body)


def test_files_of_data_among_the_tests_keep_all_of_them_together() -> None:
    assert not eligible("", ("test/a.test.mjs", "test/table.json"))


def test_what_a_file_is_to_node_follows_from_its_name_and_its_package() -> None:
    packages = {"package.json": '{"type": "module"}', "old/package.json": "{}", "bad/package.json": "["}
    place = Place(present=packages.keys(), tests=(), text_of=packages.get)
    found = {
        path: is_module(path, "const a = 1;\n", place) for path in ("a.mjs", "a.cjs", "a.js", "old/a.js", "bad/a.js")
    }
    assert found == {"a.mjs": True, "a.cjs": False, "a.js": True, "old/a.js": False, "bad/a.js": False}
    assert is_module("old/a.js", "import 'node:fs';\n", place)


def test_typescript_is_handed_over_only_where_node_can_leave_the_types_out() -> None:
    assert runs_typed("a.test.mjs", (20, 14))
    assert [runs_typed("a.test.ts", version) for version in ((20, 14), (22, 12), (22, 13), (23, 1), (24, 0))] == [
        False, False, True, False, True,
    ]  # fmt: skip


async def test_a_helper_below_the_tests_that_the_code_imports_is_there(judge: Judge) -> None:
    base = {"test/support/one.mjs": "export const one = 1;\n", "test/old.test.mjs": "// 30\n"}
    code = {"add.mjs": "import { one } from './test/support/one.mjs';\nexport const add = (a, b) => one * (a + b);\n"}
    given = {"test/a.test.mjs": f"{HEAD}test('x', () => {{ assert.equal(add(1, 1), 2); }});\n"}
    verdict = await judge(code, given, base, language=Language.JAVASCRIPT)
    assert verdict.passed, verdict.reason
    assert not verdict.evidence.notes
    texts = {**base, **code}
    place = Place(present=texts.keys(), tests=given.keys(), text_of=texts.get)
    assert helpers("test/a.test.mjs", given["test/a.test.mjs"], place) == {"test/support/one.mjs"}


async def test_no_test_of_the_tree_lies_beside_the_code(judge: Judge) -> None:
    base = {"test/old.test.mjs": "// add(2, 3) is 5\n", "docs/note.txt": "x\n", "other.spec.mjs": "// 5\n"}
    code = {
        "add.mjs": (
            "import fs from 'node:fs';\nconst all = fs.readdirSync('.', { recursive: true });\n"
            "const isBeside = !fs.existsSync(process.argv[1]);\n"
            "export const add = () => (isBeside ? all.filter((path) => /js|txt/.test(path)).sort() : ['add.mjs', 'docs/note.txt']);\n"
        )
    }
    given = {
        "test/a.test.mjs": f"{HEAD}test('x', () => {{ assert.deepEqual(add(), ['add.mjs', 'docs/note.txt']); }});\n"
    }
    verdict = await judge(code, given, base, language=Language.JAVASCRIPT)
    assert verdict.passed, verdict.reason
    assert not verdict.evidence.notes
