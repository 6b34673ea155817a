"""Reverting integrated work: the result, and a commit message that shows the revert in git's history."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nightshift.core.tasks.commit_message import CommitMessage, task_of, trailers

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
