"""Assertions in tests that the agent wrote: an assertion counts only if it can fail."""

from __future__ import annotations

import pytest

from nightshift.verdict.languages.test_texts import all_idle, asserts_something, excuses, idle_tests, let_off

SAMPLE = """import pytest


def check(x):
    assert x


def test_a():
    check(1)
    with pytest.raises(ValueError):
        int("x")


class TestB:
    def test_c(self):
        self.assertEqual(1, 1)

    def test_d(self):
        pass
"""


def test_assertions_are_found_in_all_their_forms() -> None:
    assert asserts_something("test_x.py", SAMPLE)
    assert idle_tests("test_x.py", SAMPLE) == ["test_d"]
    script = "import test from 'node:test'\ntest('a', () => { assert.equal(1, 1) })\n"
    assert asserts_something("a.test.mjs", script)
    assert not asserts_something("a.test.mjs", script.replace("assert.equal", "console.log"))
    assert not asserts_something("test_x.py", "assert f() == 1\n"), "no test"
    assert not asserts_something("test_x.py", "def test_a(:")


GO = 'package shop\n\nimport "testing"\n\nfunc {name}(t *testing.T) {{\n\t{body}\n}}\n'


@pytest.mark.parametrize(
    ("name", "body", "counts", "excused"),
    [
        ("TestAdd", 'if Add(1, 2) != 3 {{ t.Errorf("got %d", Add(1, 2)) }}', True, []),
        ("TestAdd", 't.Run("two", func(t *testing.T) {{ if Add(1, 1) != 2 {{ t.Fail() }} }})', True, []),
        ("TestAdd", "require.Equal(t, 3, Add(1, 2))", True, []),
        ("TestAdd", "Add(1, 2)", False, []),
        ("helper", 't.Error("wrong")', False, []),
        ("TestAdd", 't.Skip("later"); t.Error("wrong")', True, ["Skip"]),
    ],
)
def test_tests_in_go_are_told_from_what_cannot_fail(name: str, body: str, *, counts: bool, excused: list[str]) -> None:
    text = GO.format(name=name, body=body)
    assert asserts_something("cart_test.go", text) == counts
    assert excuses("cart_test.go", text) == excused


@pytest.mark.parametrize(
    "body",
    [
        "try:\n        assert f() == 1\n    except AssertionError:\n        raise",
        "if f():\n        assert f() == 1\n    else:\n        return",
        "assert math.isclose(f(), 1)",
        "with pytest.raises(ValueError):\n        f()",
    ],
)
def test_what_can_fail_counts(body: str) -> None:
    text = f"from a import f\n\n\ndef test_a():\n    {body}\n"
    assert asserts_something("test_a.py", text)


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("test_a.py", "from pytest import skip\ndef test_a():\n    skip('no')\n", ["skip"]),
        (
            "test_a.py",
            "@unittest.skipIf(1, 'x')\nclass TestA:\n    def test_a(self): self.skipTest('x')\n",
            ["skipIf", "skipTest"],
        ),
        ("test_a.py", "from reader import skip\ndef test_a():\n    assert skip('a') == ''\n", []),
        ("a.test.mjs", "test.skip('a', () => {})\ntest('b', { todo: true }, () => {})\n", ["skip", "todo"]),
        ("a.test.mjs", "test('a', () => assert.equal(list.skip(1), 2))\n", []),
    ],
)
def test_excuses_are_found_by_name(path: str, text: str, words: list[str]) -> None:
    assert excuses(path, text) == words


def test_helpers_from_beside_the_tests_may_assert_and_the_tested_code_may_not() -> None:
    body = "\n\ndef test_a():\n    same(1)\n"
    assert idle_tests("tests/test_x.py", f"from tests.util import same{body}") == []
    assert idle_tests("tests/test_x.py", f"from .util import same{body}") == []
    assert idle_tests("tests/test_x.py", f"from package.util import same{body}") == ["test_a"]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "test_a.py",
            (
                "class TestA:\n    @pytest.mark.skip\n    def test_a(self): pass\n\n    @pytest.mark.skip\n"
                "    def test_b(self): pass\n\n\npytestmark = pytest.mark.xfail\n"
            ),
            {("TestA::test_a", "skip"): 1, ("TestA::test_b", "skip"): 1, ("", "xfail"): 1},
        ),
        (
            "a.test.mjs",
            (
                "describe('a', () => {\n  it.skip('b', () => {});\n  it('c', (t) => { t.todo(); });\n});\n"
                "test('d', { skip: true, todo: false }, () => {});\ntest.todo('e');\nlist.skip(1);\n"
            ),
            {("a > b", "skip"): 1, ("a > c", "todo"): 1, ("d", "skip"): 1, ("e", "todo"): 1},
        ),
    ],
)
def test_what_lets_tests_off_is_counted_for_each_of_them(
    path: str, text: str, expected: dict[tuple[str, str], int]
) -> None:
    counted = let_off(path, text)
    assert {key: times for key, times in counted.items() if key[0] or path.endswith(".py")} == expected


def test_what_a_class_inherits_from_beside_the_tests_may_assert() -> None:
    head = "from tests.base import Shared\n\n\nclass TestIt(Shared):\n"
    text = f"{head}    def test_a(self):\n        self.check(run())\n"
    assert idle_tests("test_x.py", text) == []
    assert idle_tests("test_x.py", text.replace("tests.base", "program")) == ["test_a"]
    assert idle_tests("test_x.py", f"{text}\n    def check(self, it):\n        print(it)\n") == ["test_a"]
    assert idle_tests("test_x.py", text.replace("self.check(run())", "run()")) == ["test_a"]


@pytest.mark.parametrize(
    ("path", "idle", "more"),
    [
        ("test_x.py", "def test_a():\n    run()\n", "\n\ndef test_b():\n    assert run() == 1\n"),
        ("a.test.mjs", "test('a', () => { run(); });\n", "test('b', () => { assert.equal(run(), 1); });\n"),
    ],
)
def test_a_file_is_idle_where_all_its_tests_are(path: str, idle: str, more: str) -> None:
    assert all_idle(path, idle)
    assert idle_tests(path, idle + more)
    assert not all_idle(path, idle + more)
    assert not all_idle(path, "")


def test_javascript_tests_that_assert_nothing_are_named() -> None:
    text = (
        "import test from 'node:test';\nfunction check(a) { assert.equal(a, 1); }\n"
        "test('by helper', () => { check(f()); });\n"
        "test('idle', () => { f(); });\nit('own', () => assert(f()));\ntest('deep', async (t) => {\n"
        "  await t.test('x', () => { equal(f(), 1); deepEqual(f(), 1); });\n});\n"
    )
    assert idle_tests("a.test.mjs", text) == ["idle"]
