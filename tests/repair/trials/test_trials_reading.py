from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair import evaluator
from repair.evaluation import CallResult, CandidateResult, RunStatus
from repair.evaluator import MISSING
from verdict.answer import ProgramAnswer
from verdict.shaping import Names

NAMES = Names((), lambda _path: None)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.text(max_size=3)
    | st.sampled_from(["tried", "answered", "passed"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)


def _trial(*lines: str) -> ProgramAnswer:
    return ProgramAnswer(how="exited", exit_code=0, lines=lines, output="")


def test_lines_of_another_form_are_passed_over() -> None:
    lines = ('["begun", 1]', "{}", "no json", "[]", "[1]", "[" * 5000, '["tried"]')
    assert list(evaluator.rows(_trial(*lines))) == [["begun", 1], ["tried"]]
    assert list(evaluator.rows(None)) == []


def test_an_outcome_is_read_with_its_text_cleaned() -> None:
    row: list[Any] = ["tried", 3, "failed", 2, "ValueError: at 0x7f0000000000 \x1b[31m"]
    number, found = evaluator.outcome(row, NAMES) or (None, None)
    assert number == 3
    assert found is not None
    assert (found.how, found.passed) == (RunStatus.FAILED, 2)
    assert "0x…" in found.error
    assert "\x1b" not in found.error


@given(row=st.lists(JSON, min_size=1, max_size=6))
def test_no_line_makes_reading_fail(row: list[Any]) -> None:
    found = evaluator.outcome(row, NAMES)
    assert found is None or isinstance(found[1], CandidateResult)
    table = evaluator.answers([[str(row[0]), *row[1:]]], 2, 3)
    assert [len(answers) for answers in table] == [3, 3]


@pytest.mark.parametrize("first", [0, 1, 2, 7])
def test_answers_stand_at_their_calls_and_never_beyond_them(first: int) -> None:
    row = ["answered", 1, first, [["passed", ["i", hex(n)], []] for n in range(4)]]
    table = evaluator.answers([json.loads(json.dumps(row))], 2, 3)
    told = [CallResult(how=RunStatus.PASSED, value=["i", hex(n)]) for n in range(4)]
    assert table[0] == [MISSING] * 3
    assert table[1] == [*[MISSING] * min(first, 3), *told[: max(0, 3 - first)]]
