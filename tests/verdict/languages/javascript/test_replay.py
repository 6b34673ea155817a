"""Replay of a test file's checks outside any test, and the replayed answers that count against the code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nightshift.verdict.languages.javascript.replay import replay
from tests.support.sandboxes import runtime

HEAD = "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { f } from '../f.mjs';\n"


def differing(folder: Path, code: str, tests: str) -> str:
    """Return the first check whose answer outside the tests differs from its answer in the tests."""
    node = runtime().node
    assert node, "install nodejs: this test needs it"
    program = replay("test/f.test.mjs", HEAD + tests)
    assert program is not None
    (folder / "f.mjs").write_text(code)
    done = subprocess.run([node.path, *program.words], cwd=folder, capture_output=True, text=True, check=False)
    return program.find_differing(done.stdout)[0]


@pytest.mark.parametrize(
    ("code", "check"),
    [
        ("export const f = () => 3;\n", ""),
        ("export const f = () => 4;\n", "await f()"),
        ("process.exit(0);\nexport const f = () => 3;\n", "await f()"),
        ("let n = 3;\nexport const f = () => ({ valueOf: () => n++ });\n", "await f()"),
    ],
)
def test_another_value_and_none_at_all_speak_against_the_code(tmp_path: Path, code: str, check: str) -> None:
    assert differing(tmp_path, code, "test('x', async () => { assert.equal(await f(), 3); });\n") == check


def test_a_file_without_semicolons_is_asked_again(tmp_path: Path) -> None:
    node = runtime().node
    assert node, "install nodejs: this test needs it"
    program = replay("test/f.test.mjs", HEAD.replace(";", "") + "\ntest('x', () => { assert.equal(f(), 3) })\n")
    assert program is not None
    (tmp_path / "f.mjs").write_text("export const f = () => 3\n")
    done = subprocess.run([node.path, *program.words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert program.find_differing(done.stdout) == ("", False)
    assert program.find_differing("") == ("f()", False)
    assert program.find_differing(done.stdout.replace("3]", "4]")) == ("f()", True)


def test_the_expected_value_stands_not_in_the_program() -> None:
    program = replay("test/f.test.mjs", f"{HEAD}test('x', () => {{ assert.equal(f(), 4711); }});\n")
    assert program is not None
    assert "4711" not in program.words[-1]
    assert "'./f.mjs'" in program.words[-1].replace('"', "'")


@pytest.mark.parametrize(
    "tests",
    [
        "import { before } from 'node:test';\nbefore(() => f(1));\ntest('x', () => { assert.equal(f(), 3); });\n",
        "test('x', (t) => { t.mock.method(Math, 'abs'); assert.equal(f(), 3); });\n",
        "test('x', () => { assert.equal(f(import.meta.url), 3); });\n",
        "test('x', () => { f(); });\n",
    ],
)
def test_what_needs_its_framework_or_its_place_is_not_asked_again(tests: str) -> None:
    assert replay("test/f.test.mjs", HEAD + tests) is None
