from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SandboxError
from repair.evaluation import CandidateResult, RunStatus
from repair.evaluator import AT_ONCE, DEATHS, UNTRIED, Batch, RunReport

PASSED = CandidateResult(how=RunStatus.PASSED, passed=1)


class Box:
    """What a sandbox does with candidates of which some end it: with a word before that, or without."""

    def __init__(self, killers: Callable[[int], bool], *, at_once: int = 10**6, is_silent: bool = False) -> None:
        self._killers, self._at_once, self._is_silent = killers, at_once, is_silent
        self.runs: list[list[int]] = []

    async def run(self, numbers: Sequence[int], alone: bool) -> RunReport:
        self.runs.append(list(numbers))
        together = 1 if alone else 2
        for place in range(0, min(len(numbers), self._at_once), together):
            if any(map(self._killers, numbers[place : place + together])):
                done = [] if self._is_silent else numbers[:place]
                begun = [] if self._is_silent else numbers[: place + together]
                return RunReport(outcomes=dict.fromkeys(done, PASSED), begun=frozenset(begun), ended=False)
        return RunReport(
            outcomes=dict.fromkeys(numbers[: self._at_once], PASSED),
            begun=frozenset(numbers[: self._at_once]),
            ended=True,
        )


async def test_a_batch_goes_on_where_a_run_stopped() -> None:
    box = Box(lambda _: False, at_once=100)
    found = await Batch(AT_ONCE + 50, box.run).outcomes()
    assert found == [PASSED] * (AT_ONCE + 50)
    assert sum(map(len, box.runs)) > AT_ONCE + 50
    assert max(map(len, box.runs)) == AT_ONCE


@pytest.mark.parametrize("is_silent", [False, True])
@given(killer=st.integers(0, 60))
async def test_the_one_that_ends_a_sandbox_is_found_and_all_others_are_tried(is_silent: bool, killer: int) -> None:
    box = Box(lambda number: number == killer, is_silent=is_silent)
    found = await Batch(61, box.run).outcomes()
    assert [number for number, outcome in enumerate(found) if outcome != PASSED] == [killer]
    assert found[killer].how is RunStatus.CRASHED
    assert len(box.runs) <= 2 * DEATHS


async def test_too_many_that_end_a_sandbox_leave_the_rest_untried() -> None:
    box = Box(lambda number: number > 3)
    found = await Batch(200, box.run).outcomes()
    assert found[:4] == [PASSED] * 4
    assert {outcome.how for outcome in found[4:]} == {RunStatus.CRASHED}
    assert found[-1] == UNTRIED
    assert len(box.runs) <= 2 * DEATHS


async def test_nothing_that_could_be_run_is_an_error() -> None:
    with pytest.raises(SandboxError):
        await Batch(40, Box(lambda _: True, is_silent=True).run).outcomes()


async def test_no_candidates_need_no_run() -> None:
    box = Box(lambda _: True)
    assert await Batch(0, box.run).outcomes() == []
    assert box.runs == []
