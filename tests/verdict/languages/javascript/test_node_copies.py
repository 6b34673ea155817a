"""Must-fail copies of JavaScript test files.

In each test, either one check changes but keeps its form, or all checks change and the test fails at its end.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from nightshift.core.code.javascript import parse
from nightshift.verdict.languages.javascript import names
from nightshift.verdict.languages.javascript.copies import must_fail_copy
from nightshift.verdict.languages.javascript.outline import outline
from nightshift.verdict.languages.javascript.suite import prepare
from nightshift.verdict.languages.plan import Role
from nightshift.verdict.mutation import mutants
from tests.support.sandboxes import runtime

HEAD = "import test, { describe as group, it } from 'node:test';\nimport assert, { equal } from 'node:assert/strict';\n"


def make_copy_of(text: str, path: str = "a.mjs") -> tuple[str, set[str]]:
    """Return the must-fail copy of a test file, and the names of the file's tests.

    The copy is returned without its helper functions, and with `_h` instead of their random prefix.
    """
    root = parse(path, text)
    module_names = names.read(root)
    copy, cases = must_fail_copy(text, root, outline(root, module_names), module_names)
    if match := re.search(r"\nfunction (_[0-9a-f]{8})_reached", copy):
        copy = copy[: match.start()].replace(match[1], "_h")
    return copy, {case.name for case in cases}


def copy_of(body: str) -> str:
    return make_copy_of(HEAD + body)[0].removeprefix(HEAD)


def list_named(body: str) -> tuple[set[str], set[str], bool]:
    """Return the tests that must be reported, the other tests with a known name, and whether more tests may exist."""
    root = parse("a.mjs", HEAD + body)
    file_outline = outline(root, names.read(root))
    return (
        set(file_outline.required),
        {case.name for case in file_outline.cases} - file_outline.required - {""},
        not file_outline.is_closed,
    )


CHANGED = [
    ("assert.equal(2, f(1))", r"assert\.equal\([013-5], f\(1\)\)"),
    ("equal(f(1), 'two')", r"equal\(f\(1\), '(?!two')[a-z]{2,4}'\)"),
    ("equal(f(1), `a ${b} c`)", r"equal\(f\(1\), `(?!a \$\{b\} c`)[a-z]? \$\{b\} [a-z]{0,2}`\)"),
    ("assert.deepEqual(f(1), [4, { a: true }])", r"assert\.deepEqual\(f\(1\), \[[1-7], \{ a: (true|false) \}\]\)"),
    ("assert.deepStrictEqual(f(1), {})", r"assert\.deepStrictEqual\(f\(1\), \{other: [1-3]\}\)"),
    ("assert.deepEqual(f(1), new Set([1, 2]))", r"assert\.deepEqual\(f\(1\), new Set\(\[([03-5], 2|1, [03-5])\]\)\)"),
    ("assert(f(1) > 2)", r"assert\(f\(1\) <= 2\)"),
    ("assert.match(f(1), /a|b/i)", r"assert\.match\(f\(1\), /\(\?:a\|b\)[a-z]{3,6}/i\)"),
    ("assert.throws(f, { name: 'E' })", r"assert\.throws\(f, \{ name: '(?!E')[A-Za-z]{1,2}' \}\)"),
]
HANDED = [
    ("assert(f(1))", "assert(_h_is(f(1)))"),
    ("await assert.rejects(f())", "await _h_check('rejects', assert.rejects, f())"),
    ("assert.notEqual(f(1), 2)", "_h_check('notEqual', assert.notEqual, f(1), 2)"),
]


@pytest.mark.parametrize(("check", "changed"), CHANGED)
def test_a_check_is_changed_in_its_own_form_and_by_little(check: str, changed: str) -> None:
    body = f"test('x', async () => {{ {check}; }});"
    copies = set()
    for _ in range(20):
        copy = copy_of(body)
        assert copy != body
        assert re.fullmatch(rf"test\('x', async \(\) => \{{ {changed}; \}}\);", copy), copy
        copies.add(copy)
    assert len(copies) > 1 or "<=" in changed


@pytest.mark.parametrize(("check", "handed"), HANDED)
def test_a_check_without_a_value_is_handed_over(check: str, handed: str) -> None:
    assert copy_of(f"test('x', async () => {{ {check}; }});") == f"test('x', async () => {{ {handed}; }});"


def test_one_of_several_checks_is_changed_and_the_most_revealing_one() -> None:
    copy = copy_of("test('x', () => { assert.ok(a); equal(a, b); equal(b, 1); equal(c, 2); });")
    assert copy.startswith("test('x', () => { assert.ok(a); equal(a, b); ")
    assert ("equal(b, 1)" in copy) + ("equal(c, 2)" in copy) == 1


BEFORE, AFTER = " const _h = _h_reached(); try {", "} finally { _h_end(_h); } "


def test_checks_that_may_not_be_reached_are_all_changed_and_the_test_fails_at_its_end() -> None:
    copy = copy_of("test('x', () => { for (const [a, b] of all) { equal(a, b); } });")
    loop = "for (const [a, b] of all) { _h_check('equal', equal, a, b); }"
    assert copy == f"test('x', () => {{{BEFORE} {loop} {AFTER}}});"
    early = copy_of("test('x', () => { if (a) { return; } equal(b, 1); });")
    assert early == f"test('x', () => {{{BEFORE} if (a) {{ return; }} _h_check('equal', equal, b, 1); {AFTER}}});"


def test_a_test_of_one_expression_fails_at_its_end_as_well() -> None:
    assert copy_of("test('x', async () => check(f()));") == (
        f"test('x', async () => {{{BEFORE} return await check(f()); {AFTER}}});"
    )


def test_tests_are_listed_by_the_titles_above_them() -> None:
    body = "test('a', f);\ngroup('s', () => { it('b', f); it.only('b', f); group('t', () => { it('c', f); }); });\n"
    assert list_named(body) == ({"a", "s > b", "s > b #2", "s > t > c"}, set(), False)


def test_what_is_made_in_a_loop_or_under_a_condition_is_known_and_not_required() -> None:
    assert list_named("if (x) { test('a', f); }\n") == (set(), {"a"}, False)
    assert list_named("for (const n of all) test(`a ${n}`, f);\n") == (set(), set(), True)
    required, _, more = list_named("group('s', () => { all.forEach((n) => it(`a ${n}`, f)); });\ntest('b', f);\n")
    assert (required, more) == ({"b"}, True)


def test_a_test_that_its_text_skips_is_marked() -> None:
    body = "test.skip('a', f);\nit('b', { skip: 'later' }, f);\ntest('c', { skip: !x }, f);\ntest.todo('d');\n"
    root = parse("a.mjs", HEAD + body)
    assert [case.is_marked for case in outline(root, names.read(root)).cases] == [True, True, False, True]


def test_other_names_for_the_modules_are_followed() -> None:
    text = (
        "const { test: t1, describe } = require('node:test');\nconst { strictEqual: same } = require('assert');\n"
        "const strict = require('node:assert').strict;\nt1('x', () => { same(f(), 1); });\n"
        "describe('s', () => { t1('y', () => { strict.equal(f(), 1); }); });\n"
    )
    root = parse("a.cjs", text)
    module_names = names.read(root)
    assert outline(root, module_names).required == {"x", "s > y"}
    assert len(re.findall(r"\(f\(\), [02-4]\)", make_copy_of(text, "a.cjs")[0])) == 2


def test_typescript_is_read_as_such() -> None:
    text = HEAD + "test('x', (): void => { const n: number = f<number>(1) as number; equal(n, 2 as const); });\n"
    copy, _ = make_copy_of(text, "a.mts")
    assert re.search(r"equal\(n, [013-5] as const\)", copy)


def test_every_changed_literal_is_another_value_to_node() -> None:
    values = [
        "1", "-1", "0", "1.5", "1e3", "0x10", "''", "'a'", "`a`", "true", "null", "undefined", "[]", "[[1], {}]", "{}",
        "{ a: [1] }", "9007199254740993n", "new Map([[1, 2]])", "new Set([1])", "new Set()", "NaN", "a", "f()",
        "new Date(0)", "/a/g", "[undefined]",
    ]  # fmt: skip
    node = runtime().node
    assert node, "install nodejs: this test needs it"
    checks = "".join(f"test('{n}', () => {{ assert.deepEqual(({v}), ({v})); }});\n" for n, v in enumerate(values))
    root = parse("a.mjs", HEAD + checks)
    module_names = names.read(root)
    shown, _ = must_fail_copy(HEAD + checks, root, outline(root, module_names), module_names)
    code = re.sub(r"^import .*\n", "", shown, flags=re.MULTILINE)
    program = (
        "const assert = require('node:assert/strict');\nconst a = [7], f = () => 7, failed = [];\n"
        "const test = (name, run) => {\n  try { run(); failed.push(name); }\n"
        "  catch (error) { if (error.code !== 'ERR_ASSERTION') throw error; }\n};\n"
        f"{code}console.log(JSON.stringify(failed));\n"
    )
    done = subprocess.run([node.path, "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", shown


def test_a_file_that_is_nested_beyond_reason_is_run_as_it_is() -> None:
    text = HEAD + "test('x', () => { equal(" + "[" * 3000 + "]" * 3000 + ", 1); });\n"
    test_file = prepare(Role.GIVEN, "test/a.test.mjs", text)
    assert (test_file.path, test_file.outline) == ("test/a.test.mjs", None)


FUNCTIONS = """export function total(numbers, limit = 3) {
  let sum = 0;
  for (const n of numbers) {
    if (n > limit && n % 2 === 0) { sum += n; }
  }
  return sum;
}
export const half = (n) => n / 2;
"""


def test_mutants_of_javascript_are_small_faults_in_what_the_change_wrote() -> None:
    stories = [mutant.story for mutant in mutants({"a.mjs": FUNCTIONS}, lambda _path: None, 30)]
    assert "`sum` in total (a.mjs:6) becomes another value of the same type" in stories
    assert "`n > limit` in total (a.mjs:4) becomes `n >= limit`" in stories
    assert "`n / 2` in half (a.mjs:8) becomes `n * 2`" in stories
    before = FUNCTIONS.replace("n / 2", "n / 3")
    assert {mutant.line for mutant in mutants({"a.mjs": FUNCTIONS}, {"a.mjs": before}.get, 30)} == {8}
    assert mutants({"a.mjs": "export const f = ("}, lambda _path: None) == ()
