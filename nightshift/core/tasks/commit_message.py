"""Commit messages: a subject, a body, and trailers that recovery and reports read."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.best_change import describe_tests
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
