"""The commands for tasks: submit them, look at them, cancel, retry, fork, and make them more urgent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import BaseModel, ValidationError

from nightshift.client.changes import IN_SHORT, diff_blocks, more_of, show_failed_tests
from nightshift.client.errors import Exit, exit_of, print_error
from nightshift.client.output import Cell, Lines, Tone
from nightshift.client.session import Session
from nightshift.core.errors import InvalidTask, NightshiftError
from nightshift.core.program import typed
from nightshift.core.tasks.states import Status
from nightshift.server.lists.bulk import MAX_PRIORITY, Action, BulkIn, BulkResult, FilterIn
from nightshift.server.saying import SayIn
from nightshift.server.schemas import Moved
from nightshift.server.timeline.forking import ForkIn, MatrixIn

_PLACE = re.compile(r"([0-9]{1,18})(?::([0-9]{1,9}))??(?::([0-9]{1,9}))?", re.ASCII)
M = TypeVar("M", bound=BaseModel)
_FAILED = FilterIn(status=frozenset({Status.FAILED}))


def add(session: Session, body: Mapping[str, Any], *, typed: bool = False) -> int:
    """Submit a task, given as the API's body; `typed` words are not on the command line and come back if refused."""
    try:
        added = session.client.submit(body)
    except InvalidTask:
        if typed:
            session.out.note("not taken:")
            for line in body["description"].splitlines():
                session.out.note(f"  {line}")
        raise
    task = added.task
    known = "" if added.new else ", known by its key"
    fields = {"task_id": task.task_id, "status": task.status, "new": added.new, "differs": list(task.differs)}
    session.print(fields, Cell(f"task {task.task_id} {task.status}{known}"))
    if session.connection.live and not session.out.as_json:
        _tell_forecast(session)
    if task.differs:
        session.out.note(
            f"this key made another task before: {', '.join(task.differs)} differ; send it under another key"
        )
    session.note_if_down("the task waits in the queue until it starts")
    return Exit.OK


def _tell_forecast(session: Session) -> None:
    """Print the forecast after a task was added; a missing forecast does not undo the addition."""
    try:
        found = session.client.forecast()
    except NightshiftError as error:
        session.out.note(f"no forecast: {error}")
        return
    for text in filter(None, (f"open now: {found.line}" if found.line else "", found.warning)):
        session.out.note(text)


def load(session: Session, path: Path) -> int:
    """Submit the good entries of a file, each under its key, and name the others."""
    from nightshift.core.tasks.submission import as_input  # noqa: PLC0415  # no other action needs it
    from nightshift.queue.intake.inbox import with_ids  # noqa: PLC0415  # it brings YAML
    from nightshift.queue.intake.tasks_file import load_file  # noqa: PLC0415  # as above

    reading, ids = load_file(path), dict[str, int]()
    rows: list[Mapping[str, object]] = []
    faults = list(reading.faults)
    for entry in reading.entries:
        try:
            added = session.client.submit(as_input(with_ids(entry, ids)))
        except KeyError:
            faults += entry.faults({"depends_on": "an entry above was refused"})
        except InvalidTask as invalid:
            faults += entry.faults(invalid.fields)
        else:
            task = added.task
            ids[entry.key] = task.task_id
            rows.append({"task_id": task.task_id, "status": task.status, "new": added.new, "line": entry.line})
    told = [f"{path.name}:{fault}" for fault in sorted(faults, key=lambda fault: (fault.line, fault.column))]
    _print_loaded(session, rows, told, reading.notices)
    return Exit.USAGE if told else Exit.OK


def _print_loaded(
    session: Session, rows: Sequence[Mapping[str, object]], faults: Sequence[str], notices: Sequence[str]
) -> None:
    if session.out.as_json:
        session.out.mapping({"tasks": rows, "notices": list(notices), "faults": faults})
        return
    for row in rows:
        what = row["status"] if row["new"] else "known"
        session.out.line(Cell(f"task {row['task_id']} {what} (line {row['line']})"))
    for text in (*notices, *(f"error: {fault}" for fault in faults)):
        session.out.note(text)
    session.out.note(f"{sum(bool(row['new']) for row in rows)} new of {len(rows)} tasks")
    session.note_if_down("the tasks wait in the queue until it starts")


def history(session: Session, count: int) -> int:
    """The newest tasks."""
    tasks = session.client.tasks(count)
    if session.out.as_json:
        session.out.documents([task.model_dump_json() for task in tasks.tasks])
    else:
        session.out.blocks(session.views.tasks(tasks))
    return Exit.OK


def show(session: Session, name: str) -> int:
    """One task: which tests failed and what they say, then the task itself, then what it changed.

    Raises:
        NotFound: the name stands for nothing.
    """
    task = session.client.task(session.client.resolve(name).task_id)
    if session.out.as_json:
        session.print(task, [])
        return Exit.OK
    blocks = [*show_failed_tests(session, task), *session.views.task(task)]
    if task.attempt:
        blocks += [*diff_blocks(session.client.diff(task.task_id), most=IN_SHORT), more_of(task)]
    session.out.blocks(blocks)
    return Exit.OK


def cancel(session: Session, task_ids: Sequence[int]) -> int:
    """Cancel tasks."""
    return _move_each(session, task_ids, session.client.cancel)


def retry(session: Session, task_ids: Sequence[int], *, failed: bool = False, from_draft: bool = False) -> int:
    """Queue tasks again that ended, or all that failed; with `from_draft` they begin with the changes of their drafts.

    Raises:
        click.UsageError: none is named, or some beside all that failed.
    """
    if failed == bool(task_ids):
        raise click.UsageError(f"name the tasks, as in {typed('retry 7')}, or say --failed for all that failed.")
    if failed and from_draft:
        raise click.UsageError(f"name the tasks that begin with their drafts, as in {typed('retry 7 --from-draft')}.")
    if failed:
        return retry_failed(session)
    return _move_each(session, task_ids, partial(session.client.retry, from_draft=from_draft))


def _move_each(session: Session, task_ids: Sequence[int], move: Callable[[int], Moved]) -> int:
    """Move one after the other; what one of several refuses is told, and takes nothing from the others."""
    code = Exit.OK
    for task_id in task_ids:
        try:
            moved = move(task_id)
        except NightshiftError as error:
            if len(task_ids) == 1:
                raise
            print_error(error, as_json=session.out.as_json)
            code = max(code, exit_of(error))
            continue
        later = ", to be cancelled at its next safe point" if moved.cancel_requested else ""
        session.print(moved, Cell(f"task {moved.task_id} {moved.status}{later}"))
    return code


def retry_failed(session: Session) -> int:
    """Queue all again that failed; what still depends on a failure is named, and the others go on."""
    results, after = list[BulkResult](), 0
    while True:
        done = session.client.act_on_many(BulkIn(action=Action.RETRY, filter=_FAILED, after=after))
        results += done.results
        if done.next_after is None:
            break
        after = done.next_after
    refused = [each for each in results if not each.ok]
    if session.out.as_json:
        session.out.mapping({"tasks": [each.model_dump(mode="json") for each in results]})
    else:
        session.out.line(Cell(f"{len(results) - len(refused)} of {len(results)} failed tasks queued again"))
        for each in refused:
            session.out.note(f"task {each.task_id}: {each.error}")
    session.note_if_down("they wait in the queue until it starts")
    return Exit.REFUSED if refused else Exit.OK


def prioritise(session: Session, words: Sequence[str]) -> int:
    """Make a task more or less urgent, given as `ID N` or `ID=N`.

    Raises:
        click.UsageError: it was not given so.
    """
    task_id, priority = id_and_priority(words, "prioritise")
    done = session.client.prioritise(task_id, priority)
    session.print(done, Cell(f"task {done.task_id} {done.status}, priority {done.priority}"))
    return Exit.OK


def id_and_priority(words: Sequence[str], command: str) -> tuple[int, int]:
    """The number of a task and its priority, given to a command as `ID N` or `ID=N`.

    Raises:
        click.UsageError: they were not given so.
    """
    found = re.fullmatch(r"(\d{1,18})=([+-]?\d{1,7})", "=".join(words))
    if not found or abs(int(found[2])) > MAX_PRIORITY or not int(found[1]):
        raise click.UsageError(
            f"give a task and its priority, as in {typed(f'{command} 7 5')}, not {' '.join(words)!r}."
        )
    return int(found[1]), int(found[2])


def say(session: Session, task_id: int, text: str, *, interrupt: bool) -> int:
    """Say something to a task that is open.

    Args:
        session: where to.
        task_id: the task.
        text: what is said.
        interrupt: whether a request of the model that is under way is broken off.

    Raises:
        InvalidTask: the text cannot be taken.
    """
    try:
        body = SayIn.model_validate({"text": text, "interrupt": interrupt})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidTask({".".join(map(str, first["loc"])): first["msg"]}) from None
    said = session.client.say(task_id, body)
    how = "the model is interrupted and asked again with it" if said.interrupted else "it is part of the next request"
    session.print(said, Cell(f"said to task {said.task_id}, {said.status}: {how}"))
    session.note_if_down("the task goes on when it starts")
    return Exit.OK


def fork(session: Session, place: str, *, model: str | None = None, models: str | None = None, note: str = "") -> int:
    """Submit a task with the files and the plan that a step of another one left behind, or one for each of `models`.

    Args:
        session: where to.
        place: of the step, as `parse_place` reads it.
        model: who is asked first in the new task.
        models: several, with commas between them; what these forks commit waits on their branches.
        note: added to the task's words.

    Raises:
        InvalidTask: names what is wrong, such as a model that is not configured.
        click.UsageError: both `model` and `models` are given.
    """
    if models and model:
        raise click.UsageError("give --model or --models, not both.")
    task_id, attempt, step_no = parse_place(place)
    place_of = {"attempt": attempt, "step_no": step_no, "note": note}
    if models:
        return _fork_by_models(session, task_id, _read(MatrixIn, {**place_of, "models": models.split(",")}))
    body = _read(ForkIn, {**place_of, "model": model or None})
    made = session.client.fork(task_id, body)
    by = f", by {made.model}" if made.model else ""
    where = f"after step {made.step_no} of attempt {made.attempt} of task {made.source}"
    session.print(made, Cell(f"task {made.task_id} {made.status}, continues {where}{by}"))
    session.note_if_down("the task waits in the queue until it starts")
    return Exit.OK


def _fork_by_models(session: Session, task_id: int, body: MatrixIn) -> int:
    made = session.client.fork_by_models(task_id, body)
    where = f"continues after step {made.step_no} of attempt {made.attempt} of task {made.source}"
    told = [Cell(f"task {each.task_id} {each.status}, {where}, by {each.model}") for each in made.forks]
    hint = Cell(f"none lands until you choose one: {typed('integrate ID')}", Tone.DIM)
    session.print(made, [Lines(lines=[*told, hint])])
    return Exit.OK


def _read(model: type[M], values: Mapping[str, object]) -> M:
    """A body of the API from what was typed; `InvalidTask` names the first fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidTask({".".join(map(str, first["loc"])): first["msg"]}) from None


def parse_place(text: str) -> tuple[int, int | None, int | None]:
    """Task, attempt and step of `ID`, `ID:STEP` or `ID:ATTEMPT:STEP`.

    Raises:
        click.UsageError: it is none of these.
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        raise click.UsageError(f"fork takes ID, ID:STEP or ID:ATTEMPT:STEP, not {text!r}.")
    attempt, step = (None if part is None else int(part) for part in found.groups()[1:])
    return int(found[1]), attempt, step
