"""Implements the commands for tasks: submit, list, show, cancel, retry, fork, say and prioritise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import click

from nightshift.client.changes import IN_SHORT, diff_blocks, more_of, show_failed_tests
from nightshift.client.connection import Answer
from nightshift.client.errors import Exit, exit_of, print_error
from nightshift.client.output import Cell, Lines, Tone
from nightshift.client.session import Session
from nightshift.core.errors import InvalidTask, NightshiftError
from nightshift.core.program import format_command
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import MAX_PRIORITY

_PLACE = re.compile(r"([0-9]{1,18})(?::([0-9]{1,9}))??(?::([0-9]{1,9}))?", re.ASCII)


def submit(session: Session, body: Mapping[str, Any]) -> tuple[Answer, bool]:
    """Submit a task, given as the body that the API accepts.

    Returns:
        The answer, and whether the task is new. It is not new if a task with the same key exists already.
    """
    reply = session.connection.send("POST", "/api/task", body)
    return session.connection.read(reply), reply.status == HTTPStatus.CREATED


def add(session: Session, body: Mapping[str, Any], *, typed: bool = False) -> int:
    """Submit a task.

    `typed` means that the text was not an argument, but was written in an editor or read from the standard input. If
    the task is then refused, the text is printed, so that it is not lost.
    """
    try:
        task, is_new = submit(session, body)
    except InvalidTask:
        if typed:
            session.out.note("not taken:")
            for line in body["description"].splitlines():
                session.out.note(f"  {line}")
        raise
    fields = {"task_id": task.task_id, "status": task.status, "new": is_new, "differs": task.differs}
    session.print(fields, Cell(f"task {task.task_id} {task.status}{'' if is_new else ', known by its key'}"))
    if session.connection.live and not session.out.as_json:
        _tell_forecast(session)
    if task.differs:
        session.out.note(f"this key belongs to another task: {', '.join(task.differs)} differ; use another key")
    session.note_if_down("the task waits in the queue until it starts")
    return Exit.OK


def _tell_forecast(session: Session) -> None:
    """Print the forecast after a task was added. An error is only noted, because the task is in the queue already."""
    try:
        ahead = session.get("/api/forecast")
    except NightshiftError as error:
        session.out.note(f"no forecast: {error}")
        return
    if ahead.line:
        session.out.note(f"open now: {ahead.line}")


def history(session: Session, count: int) -> int:
    """List the newest tasks."""
    tasks = session.get("/api/tasks", limit=count).tasks
    if session.out.as_json:
        session.out.document(tasks)
    else:
        session.out.blocks(session.views.tasks(tasks))
    return Exit.OK


def show(session: Session, name: str) -> int:
    """Show one task: first the tests that failed, with their messages, then the task itself, then its change.

    Raises:
        NotFound: no task matches the name.
    """
    task = session.get(f"/api/task/{session.get('/api/resolve', name=name).task_id}")
    if session.out.as_json:
        session.out.document(task)
        return Exit.OK
    blocks = [*show_failed_tests(session, task), *session.views.task(task)]
    if task.attempt:
        diff = session.get(f"/api/task/{task.task_id}/diff")
        blocks += [*diff_blocks(diff, most=IN_SHORT), more_of(task)]
    session.out.blocks(blocks)
    return Exit.OK


def retry(session: Session, task_ids: Sequence[int], *, failed: bool = False, from_draft: bool = False) -> int:
    """Queue the given tasks again or, with `failed`, all failed tasks.

    With `from_draft`, the tasks begin with the changes of their drafts.

    Raises:
        click.UsageError: neither tasks nor `failed` are given, or both are given, or `failed` and `from_draft` are
            given.
    """
    if failed == bool(task_ids):
        raise click.UsageError(
            f"name the tasks, as in {format_command('retry 7')}, or say --failed for all that failed."
        )
    if failed and from_draft:
        raise click.UsageError(
            f"name the tasks that begin with their drafts, as in {format_command('retry 7 --from-draft')}."
        )
    if failed:
        return _retry_failed(session)
    return move_each(session, task_ids, "retry", {"from_draft": True} if from_draft else {})


def move_each(session: Session, task_ids: Sequence[int], action: str, body: Mapping[str, Any] | None = None) -> int:
    """Apply an action to tasks, one after the other, and return the exit code.

    If one of several tasks is refused, its error is printed, and the remaining tasks are still processed. The error of
    a single task is raised.
    """
    code = Exit.OK
    for task_id in task_ids:
        try:
            moved = session.post(f"/api/task/{task_id}/{action}", body)
        except NightshiftError as error:
            if len(task_ids) == 1:
                raise
            print_error(error, as_json=session.out.as_json)
            code = max(code, exit_of(error))
            continue
        later = ", to be cancelled at its next safe point" if moved.cancel_requested else ""
        session.print(moved, Cell(f"task {moved.task_id} {moved.status}{later}"))
    return code


def _retry_failed(session: Session) -> int:
    """Queue all failed tasks again. The reasons for tasks that are refused are printed."""
    results, after = list[Answer](), 0
    while after is not None:
        body = {"action": "retry", "filter": {"status": [Status.FAILED]}, "after": after}
        done = session.post("/api/tasks/bulk", body)
        results, after = results + done.results, done.next_after
    refused = [each for each in results if not each.ok]
    if session.out.as_json:
        session.out.document({"tasks": results})
    else:
        session.out.line(Cell(f"{len(results) - len(refused)} of {len(results)} failed tasks queued again"))
        for each in refused:
            session.out.note(f"task {each.task_id}: {each.error}")
    session.note_if_down("they wait in the queue until it starts")
    return Exit.REFUSED if refused else Exit.OK


def prioritise(session: Session, words: Sequence[str]) -> int:
    """Change the priority of a task, given as `ID N` or `ID=N`.

    Raises:
        click.UsageError: the arguments have another form.
    """
    task_id, priority = id_and_priority(words, "prioritise")
    done = session.post(f"/api/task/{task_id}/priority", {"priority": priority})
    session.print(done, Cell(f"task {done.task_id} {done.status}, priority {done.priority}"))
    return Exit.OK


def id_and_priority(words: Sequence[str], command: str) -> tuple[int, int]:
    """Parse `ID N` or `ID=N`, and return the number of the task and its priority. `command` is named in the error.

    Raises:
        click.UsageError: the arguments have another form.
    """
    given = re.fullmatch(r"(\d{1,18})=([+-]?\d{1,7})", "=".join(words))
    if not given or abs(int(given[2])) > MAX_PRIORITY or not int(given[1]):
        raise click.UsageError(
            f"give a task and its priority, as in {format_command(f'{command} 7 5')}, not {' '.join(words)!r}."
        )
    return int(given[1]), int(given[2])


def say(session: Session, task_id: int, text: str, *, interrupt: bool) -> int:
    """Send a message to an open task. With `interrupt`, a running request to its model is interrupted.

    Raises:
        InvalidTask: the text is not accepted.
    """
    answer = session.post(f"/api/task/{task_id}/say", {"text": text, "interrupt": interrupt})
    how = "the model is interrupted and asked again with it" if answer.interrupted else "it is part of the next request"
    session.print(answer, Cell(f"message sent to task {answer.task_id}, {answer.status}: {how}"))
    session.note_if_down("the task continues when it starts")
    return Exit.OK


def fork(session: Session, step: str, *, model: str | None = None, models: str | None = None, note: str = "") -> int:
    """Submit a task that continues from a step of another task, or one such task for each of `models`.

    A fork begins with the files and the plan that the other task had after that step.

    Args:
        session: the session of the home.
        step: the step, in a form that `parse_place` accepts.
        model: the model that the new task asks first.
        models: several models, separated by commas. The commits of these forks wait on their branches.
        note: text that is added to the task's description.

    Raises:
        InvalidTask: a value is wrong, such as a model that is not configured. The error names it.
        click.UsageError: both `model` and `models` are given.
    """
    if models and model:
        raise click.UsageError("give --model or --models, not both.")
    task_id, attempt, step_no = parse_place(step)
    body: dict[str, Any] = {"attempt": attempt, "step_no": step_no, "note": note}
    body |= {"models": models.split(",")} if models else {"model": model or None}
    answer = session.post(
        f"/api/task/{task_id}/{'forks' if models else 'fork'}",
        {name: each for name, each in body.items() if each or each == 0},
    )
    where = f"continues after step {answer.step_no} of attempt {answer.attempt} of task {answer.source}"
    forks = answer.forks if models else [answer]
    lines = [
        Cell(f"task {each.task_id} {each.status}, {where}{f', by {each.model}' if each.model else ''}")
        for each in forks
    ]
    if models:
        lines.append(Cell(f"none lands until you choose one: {format_command('integrate ID')}", Tone.DIM))
    session.print(answer, [Lines(lines=lines)])
    session.note_if_down("the task waits in the queue until it starts")
    return Exit.OK


def parse_place(text: str) -> tuple[int, int | None, int | None]:
    """Parse `ID`, `ID:STEP` or `ID:ATTEMPT:STEP`, and return task, attempt and step. Missing parts are None.

    Raises:
        click.UsageError: the text has another form.
    """
    parts = _PLACE.fullmatch(text)
    if parts is None:
        raise click.UsageError(f"fork takes ID, ID:STEP or ID:ATTEMPT:STEP, not {text!r}.")
    attempt, step = (None if part is None else int(part) for part in parts.groups()[1:])
    return int(parts[1]), attempt, step
