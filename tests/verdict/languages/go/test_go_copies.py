"""Parsing of Go test files and their must-fail copies, without any build."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code import golang
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import edit
from nightshift.verdict.languages.go import commands, copies, faults, suite
from nightshift.verdict.languages.go.outline import outline
from nightshift.verdict.languages.plan import Role

HEAD = 'package sums\n\nimport "testing"\n\n'


def copy(body: str, head: str = HEAD) -> tuple[str, tuple[str, ...]]:
    """Return the must-fail copy of a test, and the names of the tests that fail by an added call."""
    text = f"{head}func TestA(t *testing.T) {{\n{body}\n}}\n"
    root = golang.parse(text)
    assert not root.has_error
    edits, forced = copies.edits(root)
    changed = edit(encode(text), edits)
    assert not golang.parse(changed).has_error, changed
    return changed, forced


@pytest.mark.parametrize(
    ("body", "turned"),
    [
        ("\tif got := f(); got != 3 {\n\t\tt.Fatalf(`x`)\n\t}", "if got := f(); !(got != 3) { t.FailNow();"),
        (
            "\tif f() == 3 {\n\t\tlog()\n\t} else {\n\t\tt.Fail()\n\t}",
            "!(f() == 3) {\n\t\tlog()\n\t} else { t.FailNow();",
        ),
        ("\tfor _, c := range all {\n\t\tif c.a != c.b {\n\t\t\tt.Error()\n\t\t}\n\t}", "!(c.a != c.b)"),
        (
            "\tt.Run(`a`, func(t *testing.T) {\n\t\tif f() != 3 {\n\t\t\tt.Error(1)\n\t\t}\n\t})",
            "if !(f() != 3) { t.FailNow();",
        ),
    ],
)
def test_each_comparison_that_leads_to_a_failure_is_turned_round(body: str, turned: str) -> None:
    changed, forced = copy(body)
    assert turned in changed
    assert forced == ()


def test_checks_of_helpers_count_where_a_test_calls_them() -> None:
    helper = "func check(t testing.TB, got int) {\n\tif got != 3 {\n\t\tt.Error(got)\n\t}\n}\n\n"
    changed, forced = copy("\tcheck(t, f())", HEAD + helper)
    assert "!(got != 3)" in changed
    assert forced == ()


def test_assertions_of_testify_become_their_opposites() -> None:
    head = 'package sums\n\nimport (\n\t"testing"\n\n\t"github.com/stretchr/testify/assert"\n)\n\n'
    changed, forced = copy("\tassert.Equal(t, 3, f())\n\tassert.NoErrorf(t, err, `x`)", head)
    assert "assert.NotEqual(t, 3, f())" in changed
    assert "assert.Errorf(t, err" in changed
    assert forced == ()
    assert "assert.Equal" in copy("\tassert.Equal(t, 3, f())")[0], "another package of that name is let be"


@pytest.mark.parametrize("body", ["\tf()", "\tif ready() {\n\t\treturn\n\t}\n\tif f() != 3 {\n\t\tt.Error()\n\t}"])
def test_a_test_without_a_certain_check_fails_by_an_added_call(body: str) -> None:
    changed, forced = copy(body)
    assert "{ t.Cleanup(t.Fail);" in changed
    assert forced == ("TestA",)


def test_the_tests_of_a_file_are_those_that_go_test_runs() -> None:
    text = HEAD + (
        "func TestA(t *testing.T) {}\nfunc Test(t *testing.T) {}\nfunc Testify(t *testing.T) {}\n"
        "func TestMain(m *testing.M) {}\nfunc TestB(t *testing.B) {}\nfunc FuzzA(f *testing.F) {}\n"
        "func ExampleA() {}\nfunc BenchmarkA(b *testing.B) {}\nfunc (s S) TestC(t *testing.T) {}\n"
    )
    file_outline = outline(golang.parse(text))
    assert file_outline.required == {"TestA", "Test", "FuzzA"}
    assert file_outline.examples == ("ExampleA",)


def test_a_file_keeps_its_names_and_has_a_copy_beside_its_text() -> None:
    text = HEAD + "func TestA(t *testing.T) { if f() != 3 { t.Error() } }\nfunc TestB(*testing.T) { f() }\n"
    file = suite.prepare(Role.GIVEN, "sums/a_linux_test.go", text)
    assert (file.path, file.text) == ("sums/a_linux_test.go", text)
    assert sorted(file.names) == ["TestA", "TestB"]
    assert file.must_fail_names == {"TestA"}
    assert "!(f() != 3)" in file.must_fail_text


@pytest.mark.parametrize(
    ("path", "constraint", "built"),
    [
        ("a/b_windows_test.go", "", False), ("a_test.go", "//go:build linux && !cgo", True),
        ("a_test.go", "//go:build !(darwin || windows) && go1.18", True),
        ("a_test.go", "//go:build integration || e2e", False), ("a_test.go", "//go:build ((", True),
    ],
)  # fmt: skip
def test_files_for_other_machines_or_with_other_tags_are_not_run(path: str, constraint: str, built: bool) -> None:
    text = f"{constraint}\n\n{HEAD}func TestA(t *testing.T) {{}}\n"
    assert suite.suite_paths({path: text}) == ([path] if built else [])
    assert bool(suite.as_is(Role.REGRESSION, path, text).names) == built


def test_faults_keep_types_and_leave_tests_alone() -> None:
    text = (
        "package p\n\nfunc f(a int, s string) string {\n\tif a > 3 && a != 9 {\n"
        '\t\treturn s + "x"\n\t}\n\treturn "b"\n}\n'
    )
    mutations = {(name, fault.kind, fault.now) for name, fault, _ in faults.mutate("p.go", text, range(1, 9))}
    assert ("f", "boundary", "`a >= 3`") in mutations
    assert ("f", "comparison", "`a == 9`") in mutations
    assert not [mutation for mutation in mutations if mutation[1] == "arithmetic"]
    assert list(faults.mutate("p_test.go", text, range(1, 9))) == []


@pytest.mark.parametrize(
    ("argv", "files"),
    [
        (("go", "test", "./..."), ["a/a_test.go", "root_test.go"]),
        (("go", "test", "-v", "-timeout", "30s", "./a"), ["a/a_test.go"]), (("go", "test"), ["root_test.go"]),
        (("go", "test", "-run", "TestA", "./..."), None), (("go", "build", "./..."), None),
    ],
)  # fmt: skip
def test_commands_are_read(argv: tuple[str, ...], files: list[str] | None) -> None:
    paths = ["a/a.go", "a/a_test.go", "a/testdata/b_test.go", "root_test.go", "vendor/x/x_test.go"]
    command = commands.parse(argv)
    assert (command and command.files(paths)) == files


WORDS = st.sampled_from([
    "package p\n", 'import "testing"\n', "func TestA(t *testing.T) {", "}", "if ", "a != b", "{", " t.Error()", "\n",
    "for ", "range x ", "t.Run(`x`, func(t *testing.T) {", ")", "func ", "(", "`", '"', "/*", "//", "é", "\x00",
    "x.Run()",
])  # fmt: skip


@given(st.lists(st.one_of(WORDS, st.text(max_size=3)), max_size=40).map("".join))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    suite.prepare(Role.GIVEN, "a_test.go", text)
    suite.checks_something(text)
    list(faults.mutate("a.go", text, range(50)))
    golang.fault(text)
