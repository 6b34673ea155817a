"""Output lines of each linter that are findings, and output lines that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.repository_commands import Found, FoundCommand, Linter, Purpose
from nightshift.core.isolation import WORK
from nightshift.verdict.checks.linters.tools import TOOLS, Issue, configures, inside, mypy_targets

GOFMT = "\n".join([
    "diff a.go.orig a.go", "--- a.go.orig", "+++ a.go", "@@ -1,5 +1,5 @@", " package a", " ", "-func F( ) int {",
    "-return 1", "+func F() int {", "+\treturn 1", " }", "",
])  # fmt: skip

LINES = [
    (Linter.RUFF, "pkg/a.py:3:1: F401 [*] `os` is unused", ("pkg/a.py", 3, "F401", "`os` is unused")),
    (Linter.RUFF, "a.py:1:5: invalid-syntax: Expected ':'", ("a.py", 1, "invalid-syntax", "Expected ':'")),
    (Linter.FLAKE8, "./a.py:1:80: E501 line too long", ("a.py", 1, "E501", "line too long")),
    (Linter.MYPY, 'a.py:9: error: Bad "f"  [arg-type]', ("a.py", 9, "arg-type", 'Bad "f"')),
    (Linter.MYPY, "a.py:9:4: error: Bad", ("a.py", 9, "", "Bad")),
    (Linter.PYRIGHT, f"  {WORK}/a.py:2:5 - error: No\n  \xa0\xa0int is none (reportCall)",
     ("a.py", 2, "reportCall", "No int is none")),
    (Linter.ESLINT, f"{WORK}/src/a.js:4: Unexpected var. [no-var]", ("src/a.js", 4, "no-var", "Unexpected var.")),
    (Linter.TSC, "src/a.ts(3,7): error TS2322: Type x", ("src/a.ts", 3, "TS2322", "Type x")),
    (Linter.GOVET, "vet: ./a.go:5:2: undefined: x", ("a.go", 5, "", "undefined: x")),
]  # fmt: skip


@pytest.mark.parametrize(("linter", "line", "issue"), LINES)
def test_a_line_is_read(linter: Linter, line: str, issue: tuple[str, int, str, str]) -> None:
    path, number, code, message = issue
    issues = TOOLS[linter].issues(f"# chatter\n{line}\nFound 1 error.\n")
    assert issues == [Issue(path=path, line=number, code=code, message=message)]


def test_gofmt_tells_the_line_it_would_write() -> None:
    assert TOOLS[Linter.GOFMT].issues(GOFMT) == [
        Issue(path="a.go", line=4, code="", message="gofmt writes it as `func F() int {`")
    ]
    broken = "a.go:3:1: expected declaration, found x\n"
    assert [each.line for each in TOOLS[Linter.GOFMT].issues(broken)] == [3]


def test_a_line_that_is_no_finding_in_the_tree_is_passed_over() -> None:
    printed = (
        "a.py:3: note: See docs\n/etc/passwd:1:1: F401 x\n../a.py:1:1: F401 x\n<stdin>:1:1: E1 x\na.py:x:1: F401 y\n"
    )
    for linter in (Linter.RUFF, Linter.FLAKE8, Linter.MYPY):
        assert TOOLS[linter].issues(printed) == []


@given(st.text(max_size=400))
def test_whatever_is_printed_is_read_without_a_fault(text: str) -> None:
    for tool in TOOLS.values():
        for issue in tool.issues(text):
            assert inside(issue.path) is not None


def test_every_linter_has_a_tool_whose_command_names_the_files_as_words() -> None:
    assert set(TOOLS) == set(Linter)
    assert "'a b.py'" in TOOLS[Linter.RUFF].command(["a b.py"])
    assert "'$(x).py'" in TOOLS[Linter.MYPY].command(["$(x).py"])
    assert "a.ts" not in TOOLS[Linter.TSC].command(["a.ts"])


def test_files_that_say_what_is_found_are_known() -> None:
    assert all(map(configures, ("pyproject.toml", "sub/ruff.toml", ".eslintrc.json", "eslint.config.mjs")))
    assert not any(map(configures, ("a.py", "docs/mypy.md")))


def test_mypy_looks_where_the_repository_has_it_look() -> None:
    for words, config, targets in (
        (("mypy", "--strict", "src", "tests"), "", ("src", "tests")),
        (("make", "types"), "[tool.mypy]\nfiles = ['src']\n", ()),
        (("mypy",), "[tool.mypy]\nstrict = true\n", None),
        ((), "[mypy]\n  packages = shop\n", ()),
    ):
        command = FoundCommand(purpose=Purpose.TYPES, words=words, path="Makefile", line=1)
        assert mypy_targets(Found(commands=(command,) if words else ()), config) == targets
