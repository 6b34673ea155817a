"""Lessons: a change can be read back from its stored patch, and a fix is the difference between two changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Try
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict
from nightshift.core.text.masking import Masker
from nightshift.storage.memory.lessons import as_patch, difference, errors_of, from_patch, lesson_of

PATHS = st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}\.py", fullmatch=True)


@given(st.dictionaries(PATHS, st.none() | st.text(alphabet=st.characters(codec="utf-8"), max_size=80), max_size=4))
def test_a_change_survives_being_written_down(change: dict[str, str | None]) -> None:
    assert from_patch(as_patch(change)) == change


def test_a_fix_is_a_unified_diff_without_secrets() -> None:
    before, after = {"a.py": "def f():\n    return 1\n"}, {"a.py": "def f():\n    return 'hunter2'\n", "b.py": "b\n"}
    assert difference(before, after, Masker(["hunter2"])).split("\n") == [
        "--- a/a.py", "+++ b/a.py", "@@ -1,2 +1,2 @@", " def f():", "-    return 1", "+    return '***'",
    ]  # fmt: skip
    assert "+++ b/b.py" in difference(before, after, Masker(), error="KeyError\nb.py:1 in f"), "the error names it"
    assert difference(before, before, Masker()) == ""


def verdict(*failures: Failure, reason: str = "1 failed") -> Verdict:
    return Verdict(
        passed=False, reason=reason, evidence=Evidence(tree="", sandbox="", label=Label.TESTS_PASSED), failures=failures
    )


def test_failures_of_one_kind_are_one_error() -> None:
    failure, other = (
        Failure(
            id=f"t.py::test_{n}", kind="KeyError", message=f"'k{n}'", frame=f"pkg/a.py:{n} in total", excerpt="x = y"
        )
        for n in (1, 2)
    )
    assert errors_of(verdict(failure, other)) == {
        "KeyError: <value>\nin total": "KeyError: 'k1'\npkg/a.py:1 in total\nx = y"
    }


def test_that_time_was_over_is_no_lesson() -> None:
    late = Failure(id="t.py::test_a", kind="Timeout", message="the tests were cut off after 60 s")
    other = Failure(id="t.py::test_b", kind="KeyError", message="'k'")
    assert errors_of(verdict(late)) == {}
    assert list(errors_of(verdict(late, other))) == ["KeyError: <value>"]
    assert errors_of(verdict(reason="timed out after 60 s")) == {}


def test_the_lesson_is_the_last_reflections_advice_in_a_line() -> None:
    tries = tuple(
        Try(iteration=n, digest="", failing=(), feedback="", reflection=reflection)
        for n, reflection in enumerate(
            (
                Reflection(root_cause="first"),
                Reflection(root_cause="cause", suggested_fix="Round\nto two places."),
                Reflection(),
            )
        )
    )
    work = AttemptState(phase=Phase.COMMIT, base="", tries=tries, summary="Add f")
    assert lesson_of(work) == "Round to two places."
    assert lesson_of(AttemptState(phase=Phase.COMMIT, base="", summary="Add f")) == "Add f"
