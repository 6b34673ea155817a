"""Checks before a run (syntax and protected files), and failures presented to the model as text."""

from __future__ import annotations

import pytest

from nightshift.agent import protected_files, syntax
from nightshift.agent.feedback import delta, shape
from nightshift.agent.prompt.context import estimate_tokens
from nightshift.core.tasks.verdicts import CaseResult, Evidence, Failure, Label, Result, Verdict

EVIDENCE = Evidence(tree="t", sandbox="s", label=Label.TESTS_PASSED)


def verdict(**cases: str) -> Verdict:
    results = tuple(CaseResult(id=name, result=Result(how)) for name, how in cases.items())
    failures = tuple(
        Failure(id=name, kind="AssertionError", message=f"assert {name} == 1", frame=f"m.py:{n} in f", excerpt="> code")
        for n, (name, how) in enumerate(cases.items())
        if how == "failed"
    )
    return Verdict(passed=not failures, reason="", evidence=EVIDENCE, results=results, failures=failures)


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("a.py", "def f(:\n", "SyntaxError"),
        ("a.py", "x = 1\0\n", "SyntaxError"), ("a.py", "-" * 200_000 + "1", "RecursionError|MemoryError"),
        ("a.json", '{"a": }', "JSONDecodeError"), ("a.toml", "a = = 1", "TOMLDecodeError"),
    ],
)  # fmt: skip
def test_a_file_that_its_grammar_refuses_is_found(path: str, text: str, kind: str) -> None:
    failure = syntax.fault(path, text)
    assert failure is not None
    assert failure.kind in kind.split("|")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = '\\d'\nimport nothing_like_this\nraise SystemExit\n"),
        ("a.json", "[1]"),
        ("tests/data/broken.json", "{"),
    ],
)
def test_a_sound_file_passes_without_being_run(path: str, text: str) -> None:
    assert syntax.fault(path, text) is None


@pytest.mark.parametrize(
    ("path", "before", "why"),
    [
        ("tests/test_given.py", None, "given tests"), ("web/a.test.mjs", None, "is a test"),
        ("pkg/conftest.py", None, "steers"), ("pytest.ini", "[pytest]\n", "steers"),
        ("json.py", None, "hide the module 'json'"), (".envrc", None, "owner's machine"),
        ("pkg/json.py", None, None), ("json.py", "x = 1\n", None), ("Makefile", None, "owner's machine"),
    ],
)  # fmt: skip
def test_files_that_may_not_be_written_are_refused_with_a_reason(
    path: str, before: str | None, why: str | None
) -> None:
    refusal = protected_files.refusal(path, "x = 1\n", before=before, given=["tests/test_given.py"], asked="Write it")
    assert (refusal is None) == (why is None)
    assert why is None or why in str(refusal)


def test_settings_may_change_but_not_how_tests_are_run() -> None:
    before = "[project]\nname = 'a'\n\n[tool.pytest.ini_options]\naddopts = '-q'\n"

    def refusal_of(text: str | None) -> str | None:
        return protected_files.refusal("pyproject.toml", text, before=before, given=[], asked="")

    assert refusal_of(before.replace("'a'\n", "'b'\ndependencies = ['attrs']\n")) is None
    assert "how tests are run" in str(refusal_of(before.replace("-q", "--co")))
    for path in (".envrc", "tests/conftest.py", "pytest.ini", ".coveragerc", "setup.cfg", "sitecustomize.py"):
        why = protected_files.refusal(path, "[tool:pytest]\n", before=None, given=[], asked=f"Write a {path} file")
        assert (why is None) == (path != "sitecustomize.py"), why


def test_feedback_is_at_most_five_failures_within_its_length() -> None:
    many = verdict(**{f"t{n}": "failed" for n in range(12)}, ok="passed")
    text = shape(many)
    assert text.startswith("12 of 13 tests failed.")
    assert "5. t4: AssertionError\n   at m.py:4 in f" in text
    assert "6. " not in text
    assert text.endswith("Also failing: t10, t11, t5, t6, t7, t8, t9")
    huge = Failure(id="t", kind="ValueError", message="x" * 50_000, excerpt="y\n" * 9000, output="z\n" * 9000)
    long = Verdict(passed=False, reason="r", evidence=EVIDENCE, failures=(huge,) * 3)
    assert estimate_tokens(shape(long)) < 1900


def test_the_same_failure_is_told_once_and_errors_of_import_come_first() -> None:
    same = [Failure(id=f"t{n}", kind="AssertionError", message="m", frame="m.py:3 in f") for n in range(3)]
    broken = Failure(id="test_x.py", kind="ImportError", message="cannot import name 'f'")
    text = shape(Verdict(passed=False, reason="no", evidence=EVIDENCE, failures=(*same, broken)))
    assert text.index("1. test_x.py: ImportError") < text.index("2. t0: AssertionError")
    assert "t1" not in text


def test_the_line_of_changes_counts_fixed_new_and_same() -> None:
    before = verdict(a="failed", b="failed", c="passed")
    now = verdict(a="passed", b="failed", c="failed")
    assert delta(now, before) == (1, 1, 1)
    assert "fixed 1, new 1, same 1" in shape(now, before)
    assert delta(now, None) is None
    assert "Since the last run" not in shape(now)
