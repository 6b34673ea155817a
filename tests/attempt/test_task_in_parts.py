"""The parts of a plan become subtasks, and their ends decide the state of the split task."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from nightshift.attempt import subtasks
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.task import Kind, Limits, Subtask, Task, TaskSpec

SPEC = TaskSpec(
    description="Write all of it.",
    priority=1_000_000,
    kind=Kind.LIBRARY,
    tests={"test_a.py": "a", "test_b.py": "b"},
    limits=Limits(iterations=4, tokens=1000),
    review=True,
    audit=False,
    clarify=True,
    split=True,
    allow=("python.socket",),
    packages=("toolz",),
    mcp=("docs.search",),
)
PARTS = (
    Subtask(description="Write a.\nWith care.", files=("a.py",), tests=("test_a.py",)),
    Subtask(description="Write b.", files=("b.py", "c.py"), acceptance=("b() == 1",), after=(0,)),
)
WORK = AttemptState(phase=Phase.SPLIT, base="0" * 40, step_no=1, parts=PARTS, plan="1. a\n2. b")
TIP = "1" * 40


def task(status: Status = Status.RUNNING, spec: TaskSpec = SPEC, **more: object) -> Task:
    new_task = Task(id=7, spec=spec, status=status, created_at=datetime(2026, 3, 1, tzinfo=UTC), attempt=1)
    return replace(new_task, **more)  # type: ignore[arg-type]  # what each test says


def test_a_part_has_what_its_owner_allows_and_wants_of_the_whole_and_asks_him_nothing() -> None:
    left = Limits(model_calls=10, tokens=900, cost_usd=None)
    first, second = subtasks.split(task(), WORK, left).subtasks
    spec = first.spec
    assert (spec.kind, spec.review, spec.audit, spec.allow) == (Kind.LIBRARY, True, False, ("python.socket",))
    assert (spec.packages, spec.clarify, spec.split, spec.priority) == (("toolz",), False, False, 1_000_000)
    assert spec.mcp == ("docs.search",)
    assert (dict(spec.tests), dict(second.spec.tests)) == ({"test_a.py": "a"}, {})
    assert (first.after, second.after) == ((), (0,))
    assert spec.limits == Limits(iterations=4, model_calls=3, tokens=300)
    assert "Change only these files: b.py, c.py." in second.spec.description
    assert second.spec.description.endswith("It is done when:\n- b() == 1")


def test_a_share_is_never_nothing_but_money_may_be() -> None:
    (part, _) = subtasks.split(task(), WORK, Limits(model_calls=1, tokens=0, cost_usd=0.0)).subtasks
    assert (part.spec.limits.model_calls, part.spec.limits.tokens, part.spec.limits.cost_usd) == (1, 1, 0.0)


@pytest.mark.parametrize(
    ("more", "by_default", "may"),
    [
        ({}, False, True),
        ({"split": None}, True, True),
        ({"repo": "/theirs"}, True, False),
        ({"files": {"a.py": ""}}, True, False),
        ({"tests": {}}, True, False),
        ({"tests": {}, "test_command": ("make", "test")}, True, True),
    ],
)
def test_a_task_is_split_only_where_its_own_tests_can_judge_the_whole(
    more: dict[str, object], by_default: bool, may: bool
) -> None:
    assert subtasks.may_split(replace(SPEC, **more), by_default) is may  # type: ignore[arg-type]  # as above


def test_done_parts_are_judged_on_the_tip_and_what_they_were_shown_is_no_witness() -> None:
    on = subtasks.go_on(WORK, TIP, [task(Status.DONE), task(Status.DONE)])
    assert (on.phase, on.base, on.change, on.feedback, on.parts) == (Phase.CODING, TIP, {}, "", PARTS)
    assert on.saw_held_out
    assert not subtasks.go_on(replace(WORK, parts=PARTS[1:]), TIP, [task(Status.DONE)]).saw_held_out


def test_failed_parts_are_told_with_their_reasons_to_who_plans_anew() -> None:
    spec = replace(SPEC, description="Write b.\nWith care.")
    failed = task(Status.FAILED, spec, ending=Ending.GAVE_UP, reason="Gave up after 4 tries")
    on = subtasks.go_on(WORK, TIP, [task(Status.DONE), failed])
    assert (on.phase, on.base) == (Phase.PLANNING, TIP)
    assert "1 of 2 subtasks failed:\n- Write b. (gave_up: Gave up after 4 tries)" in on.feedback
    assert "in the repository already:\n- Write all of it." in on.feedback
