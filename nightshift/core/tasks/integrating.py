"""Results of integrating or discarding a commit that waits on its task's own branch, and the message of the commit."""

from __future__ import annotations

from dataclasses import dataclass

from nightshift.core.tasks.commit_message import CommitMessage, subject_of, trailers, without_trailers


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
