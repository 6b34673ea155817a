"""The texts for a forge: the comments on an issue and on a pull request, and the pull request's own text.

All text from a task, a model or a person is put into a code span, or into a code fence that the text cannot close.
Inside a code span or fence, a forge does not interpret a name as a mention, a number as a reference, a line as a
command, or a tag as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Task
from nightshift.core.text.masking import printable
from nightshift.remote.forges.port import PullState
from nightshift.remote.forges.specs import line

MAX_QUOTED = 4000
VERIFY = (
    "The evidence is stored as a git note (`refs/notes/nightshift`). If Nightshift is installed, these commands "
    "check it again; you can also run the tests by hand."
)
ASK = "Comments that begin with `/nightshift …`, and comments on lines, become further commits on this branch."
Mask = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of a commit.

    Attributes:
        commit: the commit.
        summary: a summary in words.
        rows: pairs of a test's name and its verdict.
    """

    commit: str
    summary: str = ""
    rows: tuple[tuple[str, str], ...] = ()


def marker(key: str) -> str:
    """Return the marker at the beginning of our comments. The forge's page does not show the marker."""
    return f"<!-- nightshift:{re.sub(r'[^A-Za-z0-9:/#._~-]', '_', key).replace('--', '-_')} -->"


def fence(text: str, mask: Mask, most: int = MAX_QUOTED) -> str:
    """Return the text in a fenced block, in which the forge does not interpret it."""
    shown = printable(mask(text.strip()), max_chars=most)
    longest = max((len(run) for run in re.findall(r"`{3,}", shown)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def span(text: str, mask: Mask, most: int = 200) -> str:
    """Return the text as a code span for use within a line or a table."""
    shown = line(mask(text), most).replace("`", "'").replace("|", "/")
    return f"`{shown}`" if shown else ""


def title(text: str, mask: Mask) -> str:
    """Return a title in which a zero-width space after each @ prevents mentions."""
    return line(mask(text), 120).replace("@", "@\u200b")


def standing(task: Task, mask: Mask, questions: Sequence[str] = ()) -> str:
    """Describe the state of a task in a paragraph. The paragraph changes only when the state changes."""
    name = f"Task {task.id}"
    match task.status:
        case Status.QUEUED | Status.SCHEDULED | Status.BLOCKED | Status.SHARED:
            return f"{name} waits for its turn." if not task.attempt else f"{name} waits, and continues by itself."
        case Status.RUNNING:
            return f"{name} is being worked on."
        case Status.WAITING:
            asked = "".join(f"\n\n{fence(each, mask)}" for each in questions)
            return f"{name} waits for an answer from its owner, on the dashboard or with `nightshift approvals`.{asked}"
        case Status.CANCELLED:
            return f"{name} was cancelled."
        case Status.FAILED:
            return f"{name} failed ({task.ending}).{_reason(task, mask)}"
        case Status.DONE:
            if task.ending is Ending.COMMITTED:
                return f"{name} is done."
            return f"{name} is done; no change was needed.{_reason(task, mask)}"


def _reason(task: Task, mask: Mask) -> str:
    return f"\n\n{fence(task.reason, mask)}" if task.reason else ""


def describe_heard(count: int) -> str:
    """Return a sentence about the number of comments on the issue that were passed on to its task."""
    return f"Comments that were passed on to the task: {count}."


def progress(parts: Iterable[str]) -> str:
    """Return the comment on an issue or a pull request, composed of paragraphs."""
    return "**Nightshift**\n\n" + "\n\n".join(filter(None, parts))


def became(number: int, sign: str, state: PullState) -> str:
    """Return a sentence about the state of a pull request."""
    name = f"{sign}{number}"
    return {
        PullState.OPEN: f"The draft is {name}. To request changes, comment there with `/nightshift …`, or on lines.",
        PullState.MERGED: f"{name} was merged.",
        PullState.CLOSED: f"{name} was closed without a merge; Nightshift does nothing more unless you reopen it.",
    }[state]


def proposal(task: Task, evidence: Evidence, branch: str, closes: int, mask: Mask) -> str:
    """Return the text of a pull request, with the change, its tests, and how to verify the change."""
    commit = evidence.commit
    rows = "\n".join(f"| {name} | {span(value, mask)} |" for name, value in evidence.rows)
    table = f"| what | evidence |\n| --- | --- |\n{rows}" if rows else "No evidence is stored with this commit."
    verify = f"git fetch origin {branch} && git checkout {commit}\nnightshift verify {commit} --repo ."
    return "\n\n".join(
        (
            f"Closes #{closes}",
            "## Summary",
            fence(evidence.summary or task.spec.description, mask),
            "## What was tested",
            table,
            "## How to verify it",
            VERIFY,
            f"```sh\n{verify}\n```",
            f"Nightshift made this change as task {task.id}; read the change before you merge it. {ASK}",
        )
    )


def describe_follow_up(task: Task, what: str, evidence: Evidence | None, mask: Mask, reason: str = "") -> str:
    """Return the entry for one follow-up in the comment on a pull request: the request and its result."""
    commit = f" Its commit is {evidence.commit[:12]}." if evidence else ""
    rows = "; ".join(f"{name}: {value}" for name, value in evidence.rows) if evidence else ""
    shown = f"\n  {span(rows, mask, 600)}" if rows else ""
    state = standing(task, mask).replace("\n", "\n  ")
    return f"- {span(what, mask)}: {state}{commit}{reason}{shown}"
