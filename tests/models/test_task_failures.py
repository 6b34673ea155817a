"""Deciding whether a request or its backend causes refusals.

Only a successful request of another task shows this, never the refused request alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.errors import ModelRefused, Parked
from nightshift.models.errors import BackendMisconfigured, RequestRefused
from nightshift.models.task_failures import PAID_FAILURE_WEIGHT, POISON_FAILURES, TaskFailures
from tests.support.gateway import GatewaySetup, ask, backend
from tests.support.wire_server import WireServer

A, B = 1, 2
REFUSED = RequestRefused("no")


def blames(*events: tuple[str, int]) -> list[type[ModelRefused]]:
    failures, refusals = TaskFailures(), list[type[ModelRefused]]()
    for what, task_id in events:
        if what == "answered":
            failures.note_answer(task_id)
        else:
            refusals.append(type(failures.note_refusal(task_id, REFUSED)))
    return refusals


@pytest.mark.parametrize(
    ("events", "blamed"),
    [
        ([("refused", A)], [RequestRefused]),
        ([("refused", A), ("answered", B), ("refused", A)], [RequestRefused, ModelRefused]),
        ([("refused", A), ("refused", B)], [RequestRefused, BackendMisconfigured]),
        ([("refused", A), ("refused", A)], [RequestRefused, ModelRefused]),
    ],
    ids=["the first says nothing", "others are answered", "a second task is refused too", "a task alone"],
)
def test_a_refusal_is_blamed_by_what_others_meet(
    events: Sequence[tuple[str, int]], blamed: Sequence[type[ModelRefused]]
) -> None:
    assert blames(*events) == blamed


EVENTS = st.lists(st.tuples(st.sampled_from(["answered", "refused"]), st.integers(1, 4)), max_size=30)


@given(EVENTS)
def test_the_backend_is_blamed_only_by_two_tasks_without_an_answer_between(events: Sequence[tuple[str, int]]) -> None:
    failures, since = TaskFailures(), set[int]()
    for what, task_id in events:
        if what == "answered":
            failures.note_answer(task_id)
            since.clear()
        elif isinstance(failures.note_refusal(task_id, REFUSED), BackendMisconfigured):
            assert since - {task_id}
        else:
            since.add(task_id)


@pytest.mark.parametrize("status", ["400", "403"])
async def test_one_flagged_prompt_ends_its_own_task_and_delays_no_other(tmp_path: Path, status: str) -> None:
    with WireServer() as server:
        async with GatewaySetup(tmp_path).gateway(backend(server)) as gateway:
            await gateway.handler.probe()
            server.fail_always(status, about="garlic", message="your input was flagged")
            flagged = ask("crush the garlic", task_id=A)
            with pytest.raises(Parked, match="flagged"):
                await gateway.task(A).complete(flagged)
            assert (await gateway.task(B).complete(ask("add", task_id=B))).text
            with pytest.raises(ModelRefused, match="flagged"):
                await gateway.task(A).complete(flagged)
            assert (await gateway.task(B).complete(ask("add", task_id=B, call_no=1))).text


def fail_between_answers(failures: TaskFailures, times: int, *, is_paid: bool) -> list[bool]:
    """Record `times` failures of one task, with an answer to another task before each failure."""
    ends = list[bool]()
    for _ in range(times):
        failures.note_answer(B)
        ends.append(failures.note_failure(A, is_paid=is_paid))
    return ends


@pytest.mark.parametrize("is_paid", [False, True])
def test_failures_between_which_others_were_answered_end_it_and_sooner_what_was_paid_for(is_paid: bool) -> None:
    times = POISON_FAILURES // (PAID_FAILURE_WEIGHT if is_paid else 1)
    ends = fail_between_answers(TaskFailures(), times, is_paid=is_paid)
    assert ends == [False] * (times - 1) + [True]


def test_a_reply_forgives_and_tasks_do_not_count_for_each_other() -> None:
    failures = TaskFailures()
    assert not any(fail_between_answers(failures, POISON_FAILURES - 1, is_paid=False))
    assert not failures.note_failure(3, is_paid=True)
    failures.note_answer(A)
    assert not any(fail_between_answers(failures, POISON_FAILURES - 1, is_paid=False))
    assert fail_between_answers(failures, 1, is_paid=False) == [True]


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=300))
def test_an_outage_of_any_length_ends_nothing(events: list[tuple[int, bool]]) -> None:
    failures = TaskFailures()
    failures.note_answer(B)
    assert not any(failures.note_failure(task_id, is_paid=is_paid) for task_id, is_paid in events)
