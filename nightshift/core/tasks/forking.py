"""Forks: new tasks that begin with the files and the plan that a step of another task left behind.

A fork, and a task that is requested again, may come with an amendment: a note, and packages to allow.

A fork is a separate task with its own limits and its own commit; the source task is not changed. The source's grants,
costs and lessons stay with the source: the fork inherits only its work.

If several models fork one step, their forks are held: a passing commit stays on the fork's branch until the owner
integrates one of them (`attempt.branch_integration`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.core.text.plain_data import shallow

if TYPE_CHECKING:
    from nightshift.core.tasks.attempt_state import AttemptState


MAX_NOTE_CHARS = 4000
MAX_DESCRIPTION_CHARS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """Additions to a task: a note to its description, and distributions that the task may use."""

    note: str = ""
    packages: tuple[str, ...] = ()


NOTHING = Amendment()


def with_note(description: str, note: str) -> str:
    """Return a task's description with the owner's note below it.

    Raises:
        InvalidTask: The description and the note together are too long.
    """
    if not note:
        return description
    text = f"{description}\n\nA remark of the owner's, which holds where it differs: {note}"
    if len(text) > MAX_DESCRIPTION_CHARS:
        why = f"too long: with the task's description it has {len(text):,} characters; shorten it"
        raise InvalidTask({"note": why})
    return text


def amend(spec: TaskSpec, amendment: Amendment) -> TaskSpec:
    """Return the specification with the owner's additions.

    Raises:
        InvalidTask: The note is too long, or the additions name packages although the task is not in Python.
    """
    if amendment.packages and spec.language is not Language.PYTHON:
        raise InvalidTask({"package": "packages are only for tasks in Python; leave it out"})
    packages = tuple(dict.fromkeys((*spec.packages, *amendment.packages)))
    return replace(spec, description=with_note(spec.description, amendment.note), packages=packages)


_BEGINNINGS = frozenset({Phase.CLARIFYING, Phase.PLANNING, Phase.CODING})
_GATES = frozenset({Phase.REVIEW, Phase.AUDIT, Phase.TESTING, Phase.REFLECTING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Origin of a task that is a fork: a step of an attempt of the task `source`.

    `model` is the model that is asked first in every phase, as `backend=model`; if it is empty, the settings decide.
    `noted` is True if the owner added a remark, which the code must follow. A fork that is `held` leaves its commit on
    its branch.
    """

    source: int
    attempt: int
    step_no: int
    model: str = ""
    noted: bool = False
    held: bool = False


def make_fork_spec(spec: TaskSpec, fork: Fork, note: str) -> TaskSpec:
    """Return the source's specification for the fork: with the remark below the description, without dependencies."""
    description = with_note(spec.description, note)
    origin = {"task_id": fork.source, "attempt": fork.attempt, "step_no": fork.step_no, "model": fork.model}
    metadata = {**shallow(spec.metadata), "forked_from": origin}
    fork_spec = replace(spec, description=description, key=None, depends_on=(), not_before=None, metadata=metadata)
    return replace(fork_spec, split=False) if fork.held else fork_spec  # A held fork's subtasks would land separately


def begin(state: AttemptState, fork: Fork) -> AttemptState:
    """Return the state with which the fork begins; `state` is the source's state after the forked step.

    Tries are counted from zero, and the inherited code is the first try. The last failure is inherited, with its
    diagnosis if there is one. The fork never begins after the checks. If the source's attempt waits, the fork continues
    with the phase that waits. If the attempt was split, the fork begins with PLANNING. If the attempt has passed or
    ended, the fork begins with CODING.
    """
    from nightshift.core.tasks.attempt_state import AttemptState  # noqa: PLC0415  # a lot of classes, and whoever lists tasks needs none

    iteration = min(1, state.iteration)
    last = state.tries[-1:] if state.tries and state.tries[-1].iteration == state.iteration else ()
    return AttemptState(
        phase=_phase(state.phase if state.phase is not Phase.AWAITING_APPROVAL else state.held_in, noted=fork.noted),
        base=state.base,
        project=state.project,
        iteration=iteration,
        plan=state.plan,
        change=state.change,
        declared=state.declared,
        own_tests=state.own_tests,
        summary=state.summary,
        feedback=state.feedback,
        tries=tuple(replace(past_try, iteration=iteration) for past_try in last),
        seen=tuple(past_try.digest for past_try in last),
        verdict=state.verdict,
        saw_held_out=state.saw_held_out,
        brief=state.brief,
    )


def begin_with_draft(state: AttemptState) -> AttemptState:
    """Return the state of an attempt that begins with an earlier attempt's draft.

    `state` is the last state of the earlier attempt. If a run failed the draft, the new attempt begins with REFLECTING,
    and the draft does not count as a try. If no run judged the draft, it is the first try, and is reviewed and tested
    without changes.
    """
    best = state.at_best()
    has_failed = best.verdict is not None and best.verdict.has_run and not best.verdict.passed
    if has_failed:
        best = replace(best, phase=Phase.REFLECTING, iteration=0, tries=())
    else:
        best = replace(best, phase=Phase.REVIEW, tries=(), verdict=None, feedback="")
    return begin(best, Fork(source=0, attempt=state.attempt, step_no=state.step_no))


def _phase(phase: Phase | None, *, noted: bool) -> Phase:
    """Return the phase in which a fork begins.

    A fork with the owner's remark begins at the latest with the phase that writes code, because the remark is for the
    author of the code.
    """
    if phase is Phase.SPLIT:
        return Phase.PLANNING
    if phase in _BEGINNINGS or (phase in _GATES and not noted):
        return phase
    return Phase.CODING
