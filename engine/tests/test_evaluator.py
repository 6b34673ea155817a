"""Evaluation in the sandbox, seen from outside: staging of a job, batches whose runs die, and lines of unknown form."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.errors import SandboxError
from nightshift.core.text.masking import Masker
from nightshift.verdict.shaping import Texts
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift_engine import evaluator
from nightshift_engine.evaluation import CallResult, CandidateResult, EvaluationJob, RunStatus
from nightshift_engine.evaluator import AT_ONCE, DEATHS, MISSING, UNTRIED, Batch, RunReport, plan_stage
from tests.support import sandboxes
from tests.support.trees import TextTree


@pytest.fixture
def rounds(tmp_path: Path) -> SuiteRuns:
    return SuiteRuns(sandboxes.bubblewrap(), sandboxes.runtime(), tmp_path / "staging", mask=Masker())


@pytest.mark.parametrize(
    ("tests", "command"),
    [({"a.test.mjs": "import test from 'node:test'"}, ()), ({}, ("make", "check"))],
)
async def test_what_pytest_does_not_run_is_refused(
    rounds: SuiteRuns, tests: dict[str, str], command: tuple[str, ...]
) -> None:
    job = EvaluationJob(base=TextTree({"Makefile": "check:\n"}), change={}, tests=tests, command=command)
    with pytest.raises(SandboxError, match="evaluates candidates only with"):
        await plan_stage(job, rounds)


PASSED = CandidateResult(how=RunStatus.PASSED, passed=1)


class Box:
    """A sandbox that some candidates kill, either after reports or without any report."""

    def __init__(self, killers: Callable[[int], bool], *, at_once: int = 10**6, is_silent: bool = False) -> None:
        self._killers, self._at_once, self._is_silent = killers, at_once, is_silent
        self.runs: list[list[int]] = []

    async def run(self, numbers: Sequence[int], alone: bool) -> RunReport:
        self.runs.append(list(numbers))
        together = 1 if alone else 2
        for start in range(0, min(len(numbers), self._at_once), together):
            if any(map(self._killers, numbers[start : start + together])):
                done = [] if self._is_silent else numbers[:start]
                begun = [] if self._is_silent else numbers[: start + together]
                return RunReport(outcomes=dict.fromkeys(done, PASSED), begun=frozenset(begun), ended=False)
        return RunReport(
            outcomes=dict.fromkeys(numbers[: self._at_once], PASSED),
            begun=frozenset(numbers[: self._at_once]),
            ended=True,
        )


async def test_a_batch_goes_on_where_a_run_stopped() -> None:
    box = Box(lambda _: False, at_once=100)
    outcomes = await Batch(AT_ONCE + 50, box.run).outcomes()
    assert outcomes == [PASSED] * (AT_ONCE + 50)
    assert sum(map(len, box.runs)) > AT_ONCE + 50
    assert max(map(len, box.runs)) == AT_ONCE


@pytest.mark.parametrize("is_silent", [False, True])
@given(killer=st.integers(0, 60))
async def test_the_one_that_ends_a_sandbox_is_found_and_all_others_are_tried(is_silent: bool, killer: int) -> None:
    box = Box(lambda number: number == killer, is_silent=is_silent)
    outcomes = await Batch(61, box.run).outcomes()
    assert [number for number, outcome in enumerate(outcomes) if outcome != PASSED] == [killer]
    assert outcomes[killer].how is RunStatus.CRASHED
    assert len(box.runs) <= 2 * DEATHS


async def test_too_many_that_end_a_sandbox_leave_the_rest_untried() -> None:
    box = Box(lambda number: number > 3)
    outcomes = await Batch(200, box.run).outcomes()
    assert outcomes[:4] == [PASSED] * 4
    assert {outcome.how for outcome in outcomes[4:]} == {RunStatus.CRASHED}
    assert outcomes[-1] == UNTRIED
    assert len(box.runs) <= 2 * DEATHS


TEXTS = Texts(frozenset(), lambda _path: None)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.text(max_size=3)
    | st.sampled_from(["tried", "answered", "passed"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)


def test_an_outcome_is_read_with_its_text_cleaned() -> None:
    row: list[Any] = ["tried", 3, "failed", 2, "ValueError: at 0x7f0000000000 \x1b[31m"]
    number, outcome = evaluator.outcome(row, TEXTS) or (None, None)
    assert number == 3
    assert outcome is not None
    assert (outcome.how, outcome.passed) == (RunStatus.FAILED, 2)
    assert "0x…" in outcome.error
    assert "\x1b" not in outcome.error


@given(row=st.lists(JSON, min_size=1, max_size=6))
def test_no_line_makes_reading_fail(row: list[Any]) -> None:
    numbered_outcome = evaluator.outcome(row, TEXTS)
    assert numbered_outcome is None or isinstance(numbered_outcome[1], CandidateResult)
    table = evaluator.answers([[str(row[0]), *row[1:]]], 2, 3)
    assert [len(answers) for answers in table] == [3, 3]


@pytest.mark.parametrize("first", [0, 2, 7])
def test_answers_stand_at_their_calls_and_never_beyond_them(first: int) -> None:
    row = ["answered", 1, first, [["passed", ["i", hex(n)], []] for n in range(4)]]
    table = evaluator.answers([json.loads(json.dumps(row))], 2, 3)
    results = [CallResult(how=RunStatus.PASSED, value=["i", hex(n)]) for n in range(4)]
    assert table[0] == [MISSING] * 3
    assert table[1] == [*[MISSING] * min(first, 3), *results[: max(0, 3 - first)]]
