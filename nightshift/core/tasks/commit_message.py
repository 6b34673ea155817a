"""Commit messages of tasks, reverts and integrations, with trailers that recovery and reports read."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from nightshift.core.tasks.attempt_state import AttemptState, describe_tests
from nightshift.core.tasks.remarks import count_by_gravity, mask_remarks
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import FindingKind, Label, Result, Verdict
from nightshift.core.text.masking import Masker, printable

SUBJECT_CHARS = 72
BODY_CHARS = 8000
SLUG_CHARS = 40
HOME = "Home"
"""The trailer with the id of the home whose daemon made a commit.

Several homes may work on one repository, and each has its own task 1. Commits of version 0.1.0 lack this trailer.
"""
_SHAPES_ALONE = Masker()
_FILLER = re.compile(
    r"(?:(?:sure|okay|certainly|of course|done|here(?:['’]s| is| are)|below is)\b[^.:!]*[.:!]?\s*)+", re.IGNORECASE
)
"""Pattern of words at the beginning of a summary that say nothing about the change."""
_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*): (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMessage:
    """Message of a commit. A model or a person wrote the body, which is plain text and cannot add a trailer."""

    subject: str
    body: str = ""
    trailers: Mapping[str, str]

    def from_home(self, home: str) -> CommitMessage:
        """Return the message with the id of a home (empty: no id) after the first trailer, which names the task."""
        first, rest = (dict(tuple(self.trailers.items())[part]) for part in (slice(1), slice(1, None)))
        return replace(self, trailers={**first, HOME: home, **rest})

    def text(self) -> str:
        """Return the message as git stores it; the trailers are the last paragraph."""
        lines = [f"{name}: {_one_line(value)}" for name, value in self.trailers.items() if _one_line(value)]
        parts = (_subject(self.subject), _body(self.body), "\n".join(lines))
        return "\n\n".join(part for part in parts if part) + "\n"


def message_for(task: Task, state: AttemptState, mask: Callable[[str], str] = _SHAPES_ALONE) -> CommitMessage:
    """Describe what an attempt did, why, and how. The model wrote the summary; the rest is generated.

    If the verdict has the label DRAFT, this is the message of a draft, which recovery does not mistake for the result.

    Args:
        task: The task.
        state: The final state of the attempt.
        mask: Removes secrets from the description and the summary, because a commit may be pushed.
    """
    description = mask(task.spec.description.strip())
    filler = _FILLER.match(state.summary.strip())
    summary = state.summary.strip()[filler.end() :] if filler else state.summary
    first, _, rest = (mask(summary.strip()) or description.partition("\n")[0]).partition("\n")
    asked = textwrap.indent(description, "> ", lambda _line: True)
    verdict = str(state.verdict.evidence.label) if state.verdict else ""
    full = state.scope.full
    left = mask_remarks(state.open_remarks, mask, full)
    named = "\n".join(textwrap.fill(f"- {remark}", SUBJECT_CHARS, subsequent_indent="  ") for remark in left)
    # These come before the task's description, because a body that is too long is cut off at the end.
    assets = (
        [finding.where for finding in state.verdict.findings if finding.kind is FindingKind.ASSET]
        if state.verdict
        else []
    )
    changed = ", ".join(map(full, sorted({*state.changed_tests, *assets})))
    removed = ", ".join(map(full, sorted(state.removed_tests)))
    changed_note = changed and _wrap(f"Existing tests that contradicted the task were changed: {changed}")
    gone = removed and _wrap(f"Existing tests were removed with what they tested: {removed}")
    is_draft = verdict == Label.DRAFT
    parts = (
        _wrap(mask(f"A draft: it did not pass: {_tests(state.verdict)}")) if is_draft and state.verdict else "",
        _wrap(rest),
        changed_note,
        gone,
        named and f"Findings that are left open:\n{named}",
        f"Asked for:\n{asked}",
    )
    return CommitMessage(
        subject=f"Draft: {first}" if is_draft else first,
        body="\n\n".join(part for part in parts if part),
        trailers={
            "Draft-Of" if is_draft else "Task": task.mark,
            "Model": ", ".join(dict.fromkeys(state.models)),
            "Iterations": str(state.iteration),
            "Verdict": verdict,
            "Open-Findings": count_by_gravity(left),
            "Changed-Tests": changed,
            "Removed-Tests": removed,
        },
    )


def _tests(verdict: Verdict) -> str:
    """Describe the test results of a draft."""
    passed = verdict.count(Result.PASSED)
    return describe_tests(passed, len(verdict.results), sorted(verdict.failing), verdict.reason)


def trailers(message: str) -> dict[str, str]:
    """Return the trailers of a message.

    They are its last paragraph, if every line there is a trailer and the paragraph is not the subject.
    """
    paragraphs = message.strip().split("\n\n")
    lines = paragraphs[-1].split("\n") if len(paragraphs) > 1 else []
    matches = [_TRAILER.fullmatch(line) for line in lines]
    return {match[1]: match[2] for match in matches if match} if all(matches) else {}


def without_trailers(message: str) -> str:
    """Return a message without its trailers."""
    text = message.strip()
    return text.rpartition("\n\n")[0].strip() if trailers(text) else text


def subject_of(message: str) -> str:
    """Return the first line of a message."""
    return message.strip().partition("\n")[0]


def mark_of(message: str) -> str:
    """Return the mark of the task that a commit names (`core.tasks.task.Task.mark`); empty if it names none."""
    return trailers(message).get("Task", "")


def home_of(message: str) -> str:
    """Return the id of the home whose daemon made a commit; empty if the commit names none."""
    return trailers(message).get(HOME, "")


def draft_of(message: str) -> str:
    """Return the mark of the task that a draft names (`core.tasks.task.Task.mark`).

    The result is empty if the commit is not a draft.
    """
    return trailers(message).get("Draft-Of", "")


def task_of(message: str) -> int | None:
    """Return the local number of the task that a commit was made for, or None."""
    number = mark_of(message)
    return int(number) if re.fullmatch(r"[0-9]{1,18}", number, re.ASCII) else None


def slug(description: str) -> str:
    """Return a few words of a description for a branch name: ASCII letters, digits and single hyphens."""
    ascii_text = unicodedata.normalize("NFKD", description).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", ascii_text)
    short = ""
    for word in words:
        if short and len(short) + 1 + len(word) > SLUG_CHARS:
            break
        short = f"{short}-{word}" if short else word[:SLUG_CHARS]
    return short or "task"


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())


def _subject(text: str) -> str:
    line = _one_line(text) or "Change made by Nightshift"
    if len(line) <= SUBJECT_CHARS:
        return line
    cut = line[: SUBJECT_CHARS - 1]
    return (cut[: cut.rfind(" ")] if " " in cut else cut) + "…"


def _body(text: str) -> str:
    cut = printable(text, max_chars=BODY_CHARS)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in cut.split("\n"))).strip()


def _wrap(text: str) -> str:
    lines = text.strip().split("\n")
    return "\n".join(textwrap.fill(line, SUBJECT_CHARS, break_long_words=False) for line in lines)


REVERTS, OF_TASK = "Reverts", "Reverted-Task"
"""Trailers of a revert. `Task` is not used, because recovery treats a task as done if a commit has its `Task` trailer.
"""

FORCED = "Not judged: its owner wanted it all the same."
"""Sentence in the message of a commit that was made without a test run, because the owner forced it."""

_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BY_GIT = re.compile(r"^This reverts commit ([0-9a-f]{40}|[0-9a-f]{64})\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverted:
    """A commit that was reverted or, with `reapplied`, restored.

    `commit` is the agent's commit. `by` is the new commit on `branch` (short name). `judged` is a sentence about the
    tests that were run.
    """

    task_id: int
    commit: str
    subject: str
    by: str
    branch: str
    repo: str
    judged: str
    forced: bool = False
    reapplied: bool = False


def revert_message(subject: str, commit: str, task_id: int, judged: str, *, reapply: bool = False) -> CommitMessage:
    """Return the message of a revert. For a revert of a revert, it begins as git's own message for reapplying.

    Args:
        subject: The subject of the agent's commit.
        commit: The commit to undo: the agent's commit, or its revert.
        task_id: The task of the agent's commit.
        judged: A sentence about the tests that were run.
        reapply: True if `commit` is a revert.
    """
    what = f"This brings the work of task {task_id} back" if reapply else f"This takes the work of task {task_id} back"
    return CommitMessage(
        subject=f'{"Reapply" if reapply else "Revert"} "{subject}"',
        body=f"{what}, as its owner asked: it undoes\ncommit {commit}.\n\n{judged}",
        trailers={REVERTS: commit, OF_TASK: str(task_id)},
    )


def undoes(message: str) -> str | None:
    """Return the full id of the commit that a message reverts, by Nightshift's or git's wording.

    Returns None if it reverts none. Git's own sentence counts only in commits without a task, because a model writes
    the body of a task's commit.
    """
    if match := _ID.fullmatch(trailers(message).get(REVERTS, "")):
        return match[0]
    by_git = _BY_GIT.search(message) if task_of(message) is None else None
    return by_git[1] if by_git else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrated:
    """A commit that is on its target branch.

    `commit` is the commit on the target branch. `waited` is the commit that waited on `branch`. `commit` and `waited`
    differ if the target branch had moved meanwhile, or if `waited` was a draft. `judged` is a sentence about the test
    run. `label` is the label of the commit's verdict. `already` is True if nothing had to be done. `ended` are the
    other forks of the task, which were cancelled.
    """

    task_id: int
    commit: str
    waited: str
    subject: str
    branch: str
    target: str
    repo: str
    judged: str
    label: str
    forced: bool = False
    already: bool = False
    ended: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """A commit whose branch was removed; `undo` is the command that creates the branch again.

    `already` is True if the branch no longer existed. `is_at_remote` is True if the branch was pushed and still exists
    at the remote.
    """

    task_id: int
    commit: str
    subject: str
    branch: str
    repo: str
    undo: str
    already: bool = False
    is_at_remote: bool = False


def result_message(message: str, mark: str, label: str, remark: str = "") -> CommitMessage:
    """Return the message with which a commit lands: a normal result's message, with the label of the last verdict.

    Args:
        message: The message of the commit that waited.
        mark: The name of the task in its commits.
        label: The label; empty if no run vouches for the commit.
        remark: A paragraph below the text.
    """
    replaced = {"Draft-Of", "Task", "Verdict"}
    remaining = {name: value for name, value in trailers(message).items() if name not in replaced}
    paragraphs = [*without_trailers(message).split("\n\n")[1:], remark]
    return CommitMessage(
        subject=subject_of(message).removeprefix("Draft: "),
        body="\n\n".join(each for each in paragraphs if each and not each.startswith("A draft: ")),
        trailers={"Task": mark, **remaining, "Verdict": label},
    )
