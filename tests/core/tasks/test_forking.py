"""A fork begins with the work of its source task, must still pass every check, and has its own account of costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.attempt_state import AttemptState, Reflection, Try
from nightshift.core.tasks.change_checks import CheckedChange
from nightshift.core.tasks.forking import Fork, begin, make_fork_spec
from nightshift.core.tasks.lesson import Lesson
from nightshift.core.tasks.remarks import Reader, Reading
from nightshift.core.tasks.states import TERMINAL_PHASES, Phase
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Spent

FORK = Fork(source=3, attempt=2, step_no=7, model="openai=small")
NOTED = replace(FORK, noted=True)
TRIES = tuple(
    Try(iteration=n, digest=str(n), failing=("t",), feedback="f", reflection=Reflection(root_cause=str(n)))
    for n in (4, 5)
)
WORK = AttemptState(
    phase=Phase.TESTING, base="b" * 40, attempt=2, step_no=8, iteration=5, plan="1. x", change={"a.py": "x = 1\n"},
    own_tests={"test_a.py": "..."}, feedback="no", tries=TRIES, seen=("4", "5"), spent=Spent(model_calls=9),
    models=("big",), escalation=2, lessons=(Lesson(id=1, text="x", score=0.5),), sent_back_by=(Reader.REVIEW,),
    readings=(Reading(reader=Reader.REVIEW, change="1"),), checked=CheckedChange(digest="1"),
    packages={"requests": "1.0"}, saw_held_out=True,
)  # fmt: skip


def test_files_and_plan_come_along_and_the_account_does_not() -> None:
    first = begin(WORK, FORK)
    field_names = ("base", "plan", "change", "own_tests", "feedback", "saw_held_out")
    assert all(getattr(first, name) == getattr(WORK, name) for name in field_names)
    assert first == replace(
        first,
        step_no=0,
        spent=Spent(),
        models=(),
        escalation=0,
        lessons=(),
        sent_back_by=(),
        readings=(),
        checked=None,
        packages={},
    )
    assert first.iteration == 1


@given(
    phase=st.sampled_from(Phase), held_in=st.sampled_from([None, Phase.CLARIFYING, Phase.TESTING]), noted=st.booleans()
)
def test_a_fork_begins_in_front_of_every_gate(phase: Phase, held_in: Phase | None, noted: bool) -> None:
    first = begin(replace(WORK, phase=phase, held_in=held_in), NOTED if noted else FORK).phase
    assert first not in TERMINAL_PHASES
    if noted:
        assert first in {Phase.CLARIFYING, Phase.PLANNING, Phase.CODING}


@pytest.mark.parametrize(
    ("ended", "first"),
    [
        (Phase.CODING, Phase.CODING), (Phase.REFLECTING, Phase.REFLECTING), (Phase.COMMIT, Phase.CODING),
        (Phase.ABANDON, Phase.CODING), (Phase.SPLIT, Phase.PLANNING), (Phase.AWAITING_APPROVAL, Phase.CODING),
    ],
)  # fmt: skip
def test_what_had_ended_goes_on_with_code(ended: Phase, first: Phase) -> None:
    assert begin(replace(WORK, phase=ended), FORK).phase is first


def test_the_specification_is_the_sources_and_waits_for_nothing() -> None:
    spec = parse_spec(
        {"description": "Do it", "key": "k", "depends_on": [1], "not_before": "2031-01-01T00:00:00Z",
         "metadata": {"a": 1}, "limits": {"tokens": 9}, "tests": {"test_a.py": "..."}}
    )  # fmt: skip
    fork_spec = make_fork_spec(spec, FORK, "")
    assert (fork_spec.key, fork_spec.depends_on, fork_spec.not_before) == (None, (), None)
    assert (fork_spec.description, fork_spec.limits, fork_spec.tests) == ("Do it", spec.limits, spec.tests)
    origin = {"task_id": 3, "attempt": 2, "step_no": 7, "model": "openai=small"}
    assert fork_spec.metadata == {"a": 1, "forked_from": origin}


def test_a_remark_is_added_to_the_words_and_may_be_too_long() -> None:
    spec = parse_spec({"description": "Do it"})
    assert make_fork_spec(spec, NOTED, "But quickly.").description.endswith("holds where it differs: But quickly.")
    with pytest.raises(InvalidTask, match="note"):
        make_fork_spec(replace(spec, description="x" * 99_990), NOTED, "But quickly.")
