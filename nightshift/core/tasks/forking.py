"""A fork: a new task that begins with the files and the plan that a step of another task left behind.

It is a task of its own, with its own limits and its own commit; the one that it came from is not touched. What that one
was granted, was charged and had learned stays with it: the fork begins with its work, not with its account.

Forks of one step by several models are held back: what passes stays on the fork's branch until its owner integrates
one of them (`attempt.branch_integration`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nightshift.core.tasks.amending import with_note
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.text.plain_data import shallow

if TYPE_CHECKING:
    from nightshift.core.tasks.attempt_state import AttemptState

_BEGINNINGS = frozenset({Phase.CLARIFYING, Phase.PLANNING, Phase.CODING})
_GATES = frozenset({Phase.REVIEW, Phase.AUDIT, Phase.TESTING, Phase.REFLECTING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Origin of a task that is a fork: a step of an attempt of `source`.

    `model` is who is asked first in every phase, by `backend=model`; empty leaves that to the settings. `noted` tells
    that its owner added a remark, which code has to heed. One that is `held` leaves its commit on its branch.
    """

    source: int
    attempt: int
    step_no: int
    model: str = ""
    noted: bool = False
    held: bool = False


def make_fork_spec(spec: TaskSpec, fork: Fork, note: str) -> TaskSpec:
    """The specification of the fork: the source's, with the remark below its words, and nothing to wait for.

    Raises:
        InvalidTask: words and remark are too long together.
    """
    description = with_note(spec.description, note)
    origin = {"task_id": fork.source, "attempt": fork.attempt, "step_no": fork.step_no, "model": fork.model}
    metadata = {**shallow(spec.metadata), "forked_from": origin}
    fork_spec = replace(spec, description=description, key=None, depends_on=(), not_before=None, metadata=metadata)
    return replace(fork_spec, split=False) if fork.held else fork_spec  # its subtasks would land by themselves


def begin(state: AttemptState, fork: Fork) -> AttemptState:
    """The state at which the fork begins; `work` is the one after the step.

    Tries are counted anew, and the code it brings along is the first. The last failure comes along, and its diagnosis
    where there is one. It never begins behind the checks: what passed them is judged again, and what had ended, waited
    or been split goes on with code.
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
    """The state at which an attempt begins with the draft that an earlier one left; `state` is the last of that one.

    A change that failed a run is reflected on first, and is no try of the new attempt; one that no run judged is its
    first try, which is read and tested as it is.
    """
    best = state.at_best()
    has_failed = best.verdict is not None and best.verdict.has_run and not best.verdict.passed
    if has_failed:
        best = replace(best, phase=Phase.REFLECTING, iteration=0, tries=())
    else:
        best = replace(best, phase=Phase.REVIEW, tries=(), verdict=None, feedback="")
    return begin(best, Fork(source=0, attempt=state.attempt, step_no=state.step_no))


def _phase(phase: Phase | None, *, noted: bool) -> Phase:
    """Return the phase where a fork goes on. A remark is for the writer of code, so no phase behind that is first."""
    if phase is Phase.SPLIT:
        return Phase.PLANNING
    if phase in _BEGINNINGS or (phase in _GATES and not noted):
        return phase
    return Phase.CODING
