"""The course of a task: its timeline, its steps, what they changed, and tasks that begin where it was."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from core.states import DaemonState
from server.diffs.case_files import CaseFiles
from server.diffs.changes import Diff, FileText
from server.endpoint import Call, Endpoint, Reply
from server.query import BadQuery, Query
from server.timeline.forking import Forked, ForkIn, Forking
from server.timeline.reading import timeline_of
from server.timeline.step_answers import StepDetail
from server.timeline.step_detail import Steps
from server.timeline.timeline_answers import Timeline

MOST_NUMBER = 2**31 - 1
MAX_PATH = 4096


class TimelineQuery(Query):
    """Which attempt to tell in full."""

    attempt: int | None = Field(None, ge=1, le=MOST_NUMBER, description="without it the newest")


class StepQuery(Query):
    """How much of a step to tell."""

    call: int | None = Field(None, ge=0, le=MOST_NUMBER, description="only this model call, with its texts in full")


class DiffQuery(Query):
    """Which states to compare."""

    of: Literal["task", "iteration", "step"] = Field("task", description="what made the difference")
    attempt: int | None = Field(None, ge=1, le=MOST_NUMBER, description="for `iteration` and `step`")
    iteration: int | None = Field(None, ge=0, le=MOST_NUMBER, description="for `iteration`: against what was before it")
    step: int | None = Field(None, ge=0, le=MOST_NUMBER, description="for `step`")
    path: str | None = Field(None, min_length=1, max_length=MAX_PATH, description="only this file, which may be longer")


class FileQuery(Query):
    """Which file, and when; without a step the one that came with the task."""

    path: str = Field(min_length=1, max_length=MAX_PATH, description="its path in the repository")
    attempt: int | None = Field(None, ge=1, le=MOST_NUMBER, description="as it was in this attempt")
    step: int | None = Field(None, ge=0, le=MOST_NUMBER, description="after this step of it")


def show_timeline(call: Call) -> Reply:
    """Attempts, tries and steps, without their texts."""
    task = call.context.queue.get(call.number("task_id"))
    return Reply(answer=timeline_of(call.context, task, call.asked(TimelineQuery).attempt))


def show_step(call: Call) -> Reply:
    """One step with its prompts, replies, files and verdict."""
    task = call.context.queue.get(call.number("task_id"))
    steps = Steps(call.context, task)
    return Reply(answer=steps.detail(call.number("attempt"), call.number("step_no"), call.asked(StepQuery).call))


def show_diff(call: Call) -> Reply:
    """What the task, a try or a step changed."""
    files = CaseFiles(call.context, call.context.queue.get(call.number("task_id")))
    asked = call.asked(DiffQuery)
    if asked.of == "task":
        return Reply(answer=files.of_task(asked.path))
    if asked.of == "iteration":
        iteration = _needed("iteration", asked.iteration, asked.of)
        return Reply(answer=files.of_iteration(_needed("attempt", asked.attempt, asked.of), iteration, asked.path))
    attempt, step = _needed("attempt", asked.attempt, asked.of), _needed("step", asked.step, asked.of)
    return Reply(answer=files.of_step(attempt, step, asked.path))


def show_file(call: Call) -> Reply:
    """A file as it was after a step, or as it came with the task."""
    files = CaseFiles(call.context, call.context.queue.get(call.number("task_id")))
    asked = call.asked(FileQuery)
    if asked.attempt is None and asked.step is None:
        return Reply(answer=files.given(asked.path))
    attempt, step = _needed("attempt", asked.attempt, "step"), _needed("step", asked.step, "attempt")
    return Reply(answer=files.file(attempt, step, asked.path))


def fork_task(call: Call) -> Reply:
    """Begin a new task where this one was after a step."""
    context = call.context
    status = context.status()
    models = None if status.state is DaemonState.STOPPED else status.models
    forking = Forking(context.database, context.queue, context.steps, models)
    made = forking.fork(call.number("task_id"), call.optional_body(ForkIn))
    return Reply(answer=made, status=201, headers={"Location": f"/api/task/{made.task_id}"})


def _needed(name: str, value: int | None, beside: str) -> int:
    if value is None:
        raise BadQuery({name: f"is needed with {beside}; give it too"})
    return value


ENDPOINTS = (
    Endpoint(
        name="show_timeline",
        view=show_timeline,
        method="GET",
        path="/api/task/{task_id}/timeline",
        summary="The course of a task: attempts, and of one the tries and steps, without their texts.",
        query=TimelineQuery,
        answers={200: Timeline},
        errors=(400, 404),
    ),
    Endpoint(
        name="show_step",
        view=show_step,
        method="GET",
        path="/api/task/{task_id}/step/{attempt}/{step_no}",
        summary="One step: prompts, replies, files, verdict, findings, lessons, lines of the log; texts are bounded.",
        query=StepQuery,
        answers={200: StepDetail},
        errors=(400, 404),
    ),
    Endpoint(
        name="show_diff",
        view=show_diff,
        method="GET",
        path="/api/task/{task_id}/diff",
        summary="What the whole task changed, or one try since the one before, or one step; as highlighted hunks.",
        query=DiffQuery,
        answers={200: Diff},
        errors=(400, 404),
    ),
    Endpoint(
        name="show_file",
        view=show_file,
        method="GET",
        path="/api/task/{task_id}/file",
        summary="A file as it was after a step, or as it came with the task; as highlighted lines.",
        query=FileQuery,
        answers={200: FileText},
        errors=(400, 404),
    ),
    Endpoint(
        name="fork_task",
        view=fork_task,
        method="POST",
        path="/api/task/{task_id}/fork",
        summary="Add a task that begins with the files and the plan as they were after a step of this one.",
        body=ForkIn,
        answers={201: Forked},
        errors=(400, 404, 415, 503),
    ),
)
