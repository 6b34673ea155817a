"""Integrating or discarding a commit that waits on its task's own branch: the results, and the message that lands."""

from __future__ import annotations

from dataclasses import dataclass

from nightshift.core.tasks.commit_message import CommitMessage, subject_of, trailers, without_trailers


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrated:
    """A commit that is on its target.

    `commit` is the commit on the target, `waited` the one that waited on `branch`; they are the same unless newer work
    came between or the commit was a draft. `judged` is a sentence on the run, `label` the claim that the commit may
    make. `already` is True if nothing had to be done. `ended` are the other forks of the task that were cancelled.
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

    `already` is True if the branch did not exist any more; `is_at_remote` is True if it was pushed and still exists
    there.
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
    """Return the message under which a commit lands: that of a result, with the label of the last verdict.

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
