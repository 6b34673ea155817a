"""Tasks that are worked on in subtasks: turns a plan into subtasks, and continues the task when they have ended.

Subtasks are tasks of the daemon's own workspace. They land there like any other task, in the order of their
dependencies. The split task therefore continues from the tip that contains their work, and its own tests judge that
work. The remaining budget is shared: each subtask gets an equal share as its limit, and one share stays with the split
task. The split task is charged only for what the subtasks really used (`attempt.limits`), so the unused part of their
shares returns to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nightshift.core.errors import Split
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.projects import ROOT
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.task import MAX_PRIORITY, Limits, Subtask, SubtaskSpec, Task, TaskSpec

_REASON_CHARS = 600


def may_split(spec: TaskSpec, by_default: bool) -> bool:
    """Check whether a plan may split the task: the owner or the settings want it, and tests judge the joined work.

    In an owner's repository the subtasks would have to land on the task's own branch, which is not implemented. A task
    that brings its own files would have to assign each file to one of its subtasks.
    """
    wanted = by_default if spec.split is None else spec.split
    return wanted and spec.repo is None and not spec.files and bool(spec.tests or spec.test_command)


def split(task: Task, state: AttemptState, left: Limits) -> Split:
    """Build the exception that ends the attempt for now, with the plan's subtasks as new tasks.

    Args:
        task: the task that is split.
        state: its state, with the plan.
        left: its remaining model budget; None in a field is unlimited.
    """
    limits = _share(task.spec.limits, left, len(state.parts) + 1)
    project = state.project or ROOT
    parts = [
        SubtaskSpec(spec=_spec(task.spec, subtask, limits, project), after=subtask.after) for subtask in state.parts
    ]
    return Split(f"waits for the {len(parts)} parts that its plan split it into", parts)


def _spec(parent_spec: TaskSpec, subtask: Subtask, limits: Limits, project: str) -> TaskSpec:
    """Return a subtask as a task. It has the split task's permissions and settings, but asks no questions.

    The tests of the split task stay with that task, except tests that the plan names for a subtask: the owner supplied
    them.
    """
    return TaskSpec(
        description=_words(subtask),
        priority=min(MAX_PRIORITY, parent_spec.priority + 1),
        project=project,
        kind=parent_spec.kind,
        language=parent_spec.language,
        tests={name: parent_spec.tests[name] for name in subtask.tests},
        limits=limits,
        review=parent_spec.review,
        audit=parent_spec.audit,
        clarify=False,
        split=False,
        allow=parent_spec.allow,
        packages=parent_spec.packages,
        mcp=parent_spec.mcp,
    )


def _words(subtask: Subtask) -> str:
    lines = [
        subtask.description,
        "",
        f"This is a part of a larger task. Change only these files: {', '.join(subtask.files)}.",
    ]
    lines += ["It is done when:", *(f"- {criterion}" for criterion in subtask.acceptance)] if subtask.acceptance else []
    return "\n".join(lines)


def _share(limits: Limits, left: Limits, shares: int) -> Limits:
    """Return the limits with an equal share of the remaining model calls, tokens and cost."""
    return replace(
        limits,
        model_calls=None if left.model_calls is None else max(1, left.model_calls // shares),
        tokens=None if left.tokens is None else max(1, left.tokens // shares),
        cost_usd=None if left.cost_usd is None else left.cost_usd / shares,
    )


def have_ended(subtasks: Sequence[Task]) -> bool:
    """Check whether a split task may continue: it has subtasks, and each is done or has failed for good."""
    return bool(subtasks) and all(part.status in {Status.DONE, Status.FAILED} for part in subtasks)


def go_on(state: AttemptState, tip: str, subtasks: Sequence[Task]) -> AttemptState:
    """Return the state in which a split task continues, at the tip with its subtasks' work.

    The task continues at CODING or, if a subtask failed, at PLANNING. Held-out cases are chosen from all tests of a
    task together, so a subtask with some of the split task's tests may have seen cases that the split task holds out.
    These cases then no longer prove anything.

    Args:
        state: the state at the split.
        tip: the commit to continue from.
        subtasks: the ended subtasks.
    """
    saw = state.saw_held_out or any(part.tests for part in state.parts)
    on_tip = replace(state, base=tip, change={}, verdict=None, saw_held_out=saw)
    failed = [part for part in subtasks if part.status is Status.FAILED]
    if not failed:
        return replace(on_tip, phase=Phase.CODING, feedback="")
    lines = [f"The task was split, and {len(failed)} of {len(subtasks)} subtasks failed:"]
    lines += [f"- {_first_line(part)} ({part.ending}: {part.reason[:_REASON_CHARS]})" for part in failed]
    done = [f"- {_first_line(part)}" for part in subtasks if part.status is Status.DONE]
    lines += ["The work of these is in the repository already:", *done] if done else []
    lines.append("Do what is left in one piece, by another approach.")
    return replace(on_tip, phase=Phase.PLANNING, feedback="\n".join(lines))


def _first_line(part: Task) -> str:
    return part.spec.description.partition("\n")[0][:300]
