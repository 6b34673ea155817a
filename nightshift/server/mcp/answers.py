"""Defines the answers of the MCP tools.

They are short, because clients pay for every word, and their ids are permanent.
"""

from __future__ import annotations

from collections.abc import Iterator

from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.server.diffs.changes import Diff, FileDiff
from nightshift.server.diffs.hunks import SIGNS
from nightshift.server.schemas import Answer, LogEvent, TaskDetail, TaskSummary

MOST_WORDS = 300
"""Maximum number of characters of a description or a reason in a list."""
MOST_DIFF = 20_000
"""Maximum number of characters of a diff in one answer."""


class Question(Answer):
    """Question that a task waits for. `default` is the answer that is assumed if nobody answers."""

    approval_id: int
    task_id: int
    kind: str
    question: str
    default: str


class TaskLine(Answer):
    """A task in a list."""

    task_id: int
    status: Status
    description: str
    ending: Ending | None
    reason: str
    commit: str | None
    branch: str | None


class TaskList(Answer):
    """A page of tasks. `cursor` is the cursor of the next page, null on the last page."""

    tasks: tuple[TaskLine, ...]
    total: int
    cursor: str | None


class TaskState(Answer):
    """State of a task.

    `at` is its current phase. `tests` says how many tests passed in the last run. `questions` are its open questions.
    `next` says what the client can do next.
    """

    task_id: int
    status: Status
    ended: bool
    description: str
    ending: Ending | None
    reason: str
    repo: str | None
    project: str | None
    attempt: int
    iteration: int
    at: str
    tests: str
    tokens: int
    cost_usd: float
    commit: str | None
    branch: str | None
    questions: tuple[Question, ...]
    next: str


class Submission(Answer):
    """Result of a submission.

    `new` is false if a task with this key already existed; that task is unchanged. `differs` names the fields in which
    the existing task differs from the submitted one.
    """

    task_id: int
    status: Status
    new: bool
    differs: tuple[str, ...]


class Difference(Answer):
    """Change of a task as a unified diff.

    `text` is one piece of the diff. `more` is the offset of the next piece, null if this is the last.
    """

    task_id: int
    before: str
    after: str
    files: tuple[str, ...]
    note: str
    text: str
    more: int | None


class LogPage(Answer):
    """Lines of the log, oldest first. `last_id` is the `after` of the next page."""

    lines: tuple[str, ...]
    last_id: int


class Lesson(Answer):
    """A lesson from an earlier task. `nearness` (0 to 1) is the similarity to the search text."""

    lesson_id: str
    about: str
    lesson: str
    repo: str
    nearness: float | None


def line_of(row: TaskSummary) -> TaskLine:
    """Return a task as a row of a list, with its texts cut."""
    return TaskLine.from_values(row, description=_cut(row.description), reason=_cut(row.cause))


def state_of(task: TaskDetail, questions: tuple[Question, ...]) -> TaskState:
    """Describe the state of a task, and what the client can do next."""
    last = task.iterations[-1] if task.iterations else None
    tested = next((each for each in reversed(task.iterations) if each.total is not None), None)
    return TaskState.from_values(
        task,
        ended=task.status in ENDED,
        reason=task.cause,
        iteration=last.iteration if last else 0,
        at=str(last.phases[-1].phase) if last and last.phases else "",
        tests=f"{tested.passed} of {tested.total} passed" if tested else "",
        tokens=task.spent.tokens,
        cost_usd=round(task.spent.cost_usd, 4),
        questions=questions,
        next=_next(task, questions),
    )


def _next(task: TaskDetail, questions: tuple[Question, ...]) -> str:
    match task.status:
        case Status.DONE:
            return f"get_diff shows the change; `nightshift verify {task.branch or task.commit}` runs its tests again"
        case Status.FAILED if task.draft:
            return f"get_diff shows the {task.draft.text}; get_log tells what happened; retry queues it again"
        case Status.FAILED | Status.CANCELLED:
            return "get_log tells what happened; retry queues it again"
        case Status.WAITING if questions:
            return "answer or approve what it asks, after asking the person who owns the repository"
    return "wait_task returns when it has ended or asks something"


def unify(difference: Diff) -> str:
    """Convert the API's diff to the text of a unified diff."""
    return "\n".join(line for file in difference.files for line in _file(file))


def _file(file: FileDiff) -> Iterator[str]:
    yield f"--- {'/dev/null' if file.status == 'added' else f'a/{file.path}'}"
    yield f"+++ {'/dev/null' if file.status == 'removed' else f'b/{file.path}'}"
    if file.told:
        yield f"# {file.told}"
    for hunk in file.hunks:
        old, new = (sum(line.kind != other for line in hunk.lines) for other in ("added", "gone"))
        yield f"@@ -{hunk.old},{old} +{hunk.new},{new} @@"
        for line in hunk.lines:
            yield SIGNS[line.kind] + "".join(text for _, text in line.parts)


def difference_of(task_id: int, difference: Diff, offset: int) -> Difference:
    """Return the piece of a task's diff that begins at `offset`, which counts characters."""
    text = unify(difference)
    end = offset + MOST_DIFF
    left_out = f"{difference.left_out} more files are not shown" if difference.left_out else ""
    return Difference(
        task_id=task_id,
        before=difference.before,
        after=difference.after,
        files=tuple(f"{file.status} {file.path}" for file in difference.files),
        note="; ".join(filter(None, [difference.note, left_out])),
        text=text[offset:end],
        more=end if end < len(text) else None,
    )


def log_text(line: LogEvent) -> str:
    """Return an event of the log as one line of text."""
    about = "/".join(filter(None, [f"#{line.task_id}" if line.task_id else "", line.phase, line.worker]))
    return f"{line.timestamp:%Y-%m-%d %H:%M:%SZ} {line.level} {about} {line.event}: {line.message}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}…"
