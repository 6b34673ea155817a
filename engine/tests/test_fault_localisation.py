"""Suspicion of lines: how often failing tests run a line, where they end, and the flow of data into results."""

from __future__ import annotations

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift_engine.evaluation import ErrorInfo, ObservedTest, RunStatus, SuiteObservation
from nightshift_engine.fault_localisation import distances, ochiai, suspects

TEXT = """RATE = 3

def price(item, count):
    base = item * RATE
    if count > 10:
        base = base - 1
    note = "sold"
    print(note)
    return (base
            * count)

class Till:
    def add(self, item):
        self.sum += item
"""


def ran(passed: bool, *lines: int, error: ErrorInfo | None = None) -> ObservedTest:
    how = RunStatus.PASSED if passed else RunStatus.FAILED
    return ObservedTest(id=f"t.py::{lines}", how=how, lines={"m.py": frozenset(lines)}, error=error)


def test_the_coefficient_is_that_of_ochiai() -> None:
    tests = [ran(False, 4, 6), ran(False, 4), ran(True, 4), ran(True, 4)]
    assert ochiai("m.py", tests) == {4: pytest.approx(2 / math.sqrt(2 * 4)), 6: pytest.approx(1 / math.sqrt(2 * 1))}


@given(st.lists(st.tuples(st.booleans(), st.sets(st.integers(1, 9))), min_size=1, max_size=8))
def test_suspicion_lies_between_nothing_and_certainty(rows: list[tuple[bool, set[int]]]) -> None:
    scores = ochiai("m.py", [ran(passed, *lines) for passed, lines in rows])
    assert all(0 < score <= 1 for score in scores.values())
    assert set(scores) == {line for passed, lines in rows if not passed for line in lines}


def test_a_line_that_only_failing_tests_run_comes_first() -> None:
    observation = SuiteObservation(tests=(ran(False, 4, 5, 6, 7, 8, 9), ran(True, 4, 5, 7, 8, 9)))
    first = suspects({"m.py": ast.parse(TEXT)}, observation)[0]
    assert first.scope.name == "price"
    assert max(first.lines, key=lambda line: first.lines[line]) == 6
    assert first.lines[9] == first.lines[10], "all lines of a statement share its suspicion"


def test_the_frame_in_which_a_test_ended_is_raised_among_equals() -> None:
    error = ErrorInfo(kind="TypeError", message="no", frames=(("m.py", 9, "price"), ("m.py", 4, "price")))
    observation = SuiteObservation(tests=(ran(False, 4, 5, 7, 9, error=error), ran(True, 4, 5, 7, 9)))
    first = suspects({"m.py": ast.parse(TEXT)}, observation)[0]
    assert max(first.lines, key=lambda line: first.lines[line]) == 4


def test_what_no_result_depends_on_comes_last_among_equals() -> None:
    observation = SuiteObservation(tests=(ran(False, 4, 5, 6, 7, 8, 9), ran(True, 4, 5, 6, 7, 8, 9)))
    lines = suspects({"m.py": ast.parse(TEXT)}, observation)[0].lines
    assert lines[9] > lines[4] > lines[7]
    assert lines[6] > lines[8]


def test_what_should_have_run_is_suspected_less_than_what_ran() -> None:
    observation = SuiteObservation(tests=(ran(False, 4, 5, 7, 9), ran(True, 14)))
    lines = suspects({"m.py": ast.parse(TEXT)}, observation)[0].lines
    assert 0 < lines[6] < min(lines[line] for line in (4, 5, 7, 9))


def test_what_no_failing_test_runs_is_not_suspected() -> None:
    observation = SuiteObservation(tests=(ran(False, 4, 5), ran(True, 14)))
    suspects_by_name = {suspect.scope.name: suspect for suspect in suspects({"m.py": ast.parse(TEXT)}, observation)}
    assert set(suspects_by_name) == {"price", ""}
    assert 1 in suspects_by_name[""].lines, "what is run at import belongs to every test"


def test_distances_follow_values_conditions_and_changes_in_place() -> None:
    text = "def f(a):\n    out = []\n    n = a + 1\n    if n:\n        out.append(a)\n    unused = 3\n    return out\n"
    assert distances(ast.parse(text).body[0]) == {7: 0, 2: 1, 5: 1, 4: 2, 3: 3}
