"""Serves the course of a task: its timeline, its steps, the files that they changed, and forks of the task."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nightshift.server.context import AppContext
from nightshift.server.diffs.case_files import CaseFiles
from nightshift.server.diffs.changes import Diff, FileText
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.query import BadQuery, Query
from nightshift.server.timeline.forking import Forked, ForkIn, Matrix, MatrixIn, fork, fork_held
from nightshift.server.timeline.reading import timeline_of
from nightshift.server.timeline.step_detail import StepDetail, read_step
from nightshift.server.timeline.timeline_answers import Timeline

routes = Routes()

MOST_NUMBER = 2**31 - 1
MAX_PATH = 4096


class TimelineQuery(Query):
    """Attempt whose steps are shown."""

    attempt: int | None = Field(None, ge=1, le=MOST_NUMBER, description="default: the newest")


class StepQuery(Query):
    """Selection of the model calls of a step."""

    call: int | None = Field(None, ge=0, le=MOST_NUMBER, description="only this model call, with its texts in full")


class DiffQuery(Query):
    """Selection of the diff: the whole task or one step, and optionally a single file."""

    of: Literal["task", "step"] = Field("task", description="what to compare before and after")
    attempt: int | None = Field(None, ge=1, le=MOST_NUMBER, description="for `step`")
    step: int | None = Field(None, ge=0, le=MOST_NUMBER, description="for `step`")
    path: str | None = Field(None, min_length=1, max_length=MAX_PATH, description="only this file, with a higher limit")


class FileQuery(Query):
    """A file, and the step after which it is shown.

    Without a step, the file is shown as it was submitted with the task.
    """

    path: str = Field(min_length=1, max_length=MAX_PATH, description="its path in the repository")
    attempt: int | None = Field(None, ge=1, le=MOST_NUMBER, description="as it was in this attempt")
    step: int | None = Field(None, ge=0, le=MOST_NUMBER, description="after this step of the attempt")


@routes.endpoint("GET", "/api/task/{task_id}/timeline")
def show_timeline(context: AppContext, task_id: int, query: TimelineQuery) -> Timeline:
    """Show the course of a task: its attempts, and the iterations and steps of one attempt, without their texts."""
    return timeline_of(context, context.queue.get(task_id), query.attempt)


@routes.endpoint("GET", "/api/task/{task_id}/step/{attempt}/{step_no}")
def show_step(context: AppContext, task_id: int, attempt: int, step_no: int, query: StepQuery) -> StepDetail:
    """Show a step: prompts, replies, files, verdict, findings, lessons and log lines. Long texts are cut."""
    return read_step(context, context.queue.get(task_id), attempt, step_no, query.call)


@routes.endpoint("GET", "/api/task/{task_id}/diff")
def show_diff(context: AppContext, task_id: int, query: DiffQuery) -> Diff:
    """Show what the whole task or one step changed, as hunks of highlighted lines."""
    files = CaseFiles(context, context.queue.get(task_id))
    if query.of == "task":
        return files.of_task(query.path)
    attempt, step = _require("attempt", query.attempt, query.of), _require("step", query.step, query.of)
    return files.of_step(attempt, step, query.path)


@routes.endpoint("GET", "/api/task/{task_id}/file")
def show_file(context: AppContext, task_id: int, query: FileQuery) -> FileText:
    """Show a file after a step, or as it was submitted with the task, as highlighted lines."""
    files = CaseFiles(context, context.queue.get(task_id))
    if query.attempt is None and query.step is None:
        return files.given(query.path)
    attempt, step = _require("attempt", query.attempt, "step"), _require("step", query.step, "attempt")
    return files.file(attempt, step, query.path)


@routes.endpoint("POST", "/api/task/{task_id}/fork", answers={201: Forked})
def fork_task(context: AppContext, task_id: int, body: ForkIn | None) -> Reply:
    """Add a task that starts with the files and the plan that this task had after a step."""
    forked = fork(context, task_id, body or ForkIn())
    return Reply(answer=forked, status=201, headers={"Location": f"/api/task/{forked.task_id}"})


@routes.endpoint("POST", "/api/task/{task_id}/forks", answers={201: Matrix})
def fork_by_models(context: AppContext, task_id: int, body: MatrixIn) -> Reply:
    """Add one fork for each given model, all from the same step. The commit of each fork waits on its branch."""
    return Reply(answer=fork_held(context, task_id, body), status=201)


def _require(name: str, value: int | None, beside: str) -> int:
    if value is None:
        raise BadQuery({name: f"is needed with {beside}; give it too"})
    return value
