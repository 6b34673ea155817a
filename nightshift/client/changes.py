"""Shows the diff of a task and the tests that failed in its last run, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nightshift.client.errors import Exit, NotFound
from nightshift.client.output import Block, Cell, Lines, Tone
from nightshift.client.session import Session
from nightshift.core.program import format_command
from nightshift.core.tasks.states import Status
from nightshift.core.text.masking import printable

MOST_FAILURES = 3
MOST_TEXT_LINES = 20
"""Maximum number of text lines for each failure."""
IN_SHORT = 60
"""Maximum number of lines of a diff that is shown together with other facts about the task."""
_SIGNS: Mapping[str, str] = {"same": " ", "added": "+", "gone": "-"}
_TONES: Mapping[str, Tone] = {"same": Tone.PLAIN, "added": Tone.GOOD, "gone": Tone.BAD}


def diff(session: Session, name: str) -> int:
    """Print the complete change of a task.

    Raises:
        NotFound: no task matches the name.
    """
    difference = session.get(f"/api/task/{session.get('/api/resolve', name=name).task_id}/diff")
    session.print(difference, diff_blocks(difference))
    return Exit.OK


def diff_blocks(difference: Any, *, most: int | None = None) -> list[Block]:
    """Return the lines of a diff, file by file.

    A diff longer than `most` lines is cut, and the number of the remaining lines is shown.
    """
    if not difference.files:
        return [Lines(lines=[Cell(difference.note or "it changed no file", Tone.DIM)])]
    lines = list(_lines(difference))
    if most is not None and len(lines) > most:
        return [Lines(lines=[*lines[:most], Cell(f"… {len(lines) - most} more lines", Tone.DIM)])]
    return [Lines(lines=lines)]


def _lines(difference: Any) -> Iterator[Cell]:
    added, removed = (sum(file[name] or 0 for file in difference.files) for name in ("added", "removed"))
    count = len(difference.files) + difference.left_out
    yield Cell(
        f"{count} file{'' if count == 1 else 's'}, +{added} -{removed}: {difference.before} → {difference.after}",
        Tone.DIM,
    )
    if difference.note:
        yield Cell(difference.note, Tone.WARN)
    for file in difference.files:
        yield from _file(file)
    if difference.left_out:
        yield Cell(f"and {difference.left_out} more files", Tone.DIM)


def _file(file: Any) -> Iterator[Cell]:
    counts = "" if file.added is None else f"  +{file.added} -{file.removed}"
    yield Cell(f"{file.status} {file.path}{counts}{'  (test)' if file.test else ''}", Tone.BUSY)
    if file.told:
        yield Cell(f"  {file.told}", Tone.DIM)
    for hunk in file.hunks:
        yield Cell(f"@@ -{hunk.old} +{hunk.new} @@", Tone.DIM)
        for line in hunk.lines:
            text = "".join(text for _, text in line.parts).expandtabs(4)
            yield Cell(f"{_SIGNS[line.kind]}{text}", _TONES[line.kind])


def show_failed_tests(session: Session, task: Any) -> list[Block]:
    """Return the tests that failed in the last run that had failures, with their messages.

    The list is empty if the task is done.
    """
    if task.status == Status.DONE or not any(row.failed for row in task.iterations):
        return []
    timeline = session.get(f"/api/task/{task.task_id}/timeline")
    steps = [step for each in timeline.tries for step in each.steps if step.failed]
    if not steps:
        return []
    return _show_failures(session, task, steps[-1])


def _show_failures(session: Session, task: Any, step: Any) -> list[Block]:
    try:
        verdict = session.get(f"/api/task/{task.task_id}/step/{step.attempt}/{step.step_no}").verdict
    except NotFound:  # the step was pruned; the output about the task says so
        return []
    if verdict is None or not verdict.failures:
        return []
    lines = [line for failure in verdict.failures[:MOST_FAILURES] for line in _failure(failure)]
    more = len(verdict.failures) - MOST_FAILURES
    if more > 0:
        lines.append(Cell(f"and {more} more", Tone.DIM))
    return [Lines(lines=lines)]


def _failure(failure: Any) -> Iterator[Cell]:
    where = f" ({failure.frame})" if failure.frame and failure.frame not in failure.id else ""
    yield Cell(f"{failure.kind or 'failed'}: {failure.id}{where}", Tone.BAD)
    text = "\n".join(filter(None, [failure.message, failure.excerpt]))
    lines = [line for line in printable(text).expandtabs(4).split("\n") if line.strip()]
    yield from (Cell(f"  {line}") for line in lines[:MOST_TEXT_LINES])
    if len(lines) > MOST_TEXT_LINES:
        yield Cell("  …", Tone.DIM)


def more_of(task: Any) -> Lines:
    """Return a line with the command that shows the whole diff of a task.

    If the task failed or was cancelled, the line also has the command that retries the task.
    """
    again = [format_command(f"retry {task.task_id}")] if task.status in {Status.FAILED, Status.CANCELLED} else []
    return Lines(lines=[Cell("  ".join([format_command(f"diff {task.task_id}"), *again]), Tone.DIM)])
