"""Reads a repository's history: a task's own commit, the newest commits, ancestry, and the notes on commits."""

from __future__ import annotations

from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import Commit, CommitFacts, LogLine, Workspace
from nightshift.git import protocol
from nightshift.git.branches import TRIES, is_ours
from nightshift.git.objects import RawCommit, find
from nightshift.git.repository import Repository
from nightshift.git.reverting import find_revert

NOTES = "refs/notes/nightshift"


def commit_of(repository: Repository, workspace: Workspace) -> Commit | None:
    """Return the task's commit: the one on its branch, or else the one in the target's history; None if there is none.

    A reverted commit does not count, because the next attempt has to make another commit.
    """
    tip = repository.resolve(workspace.target)[0] if workspace.target else None

    def counts(id_: str) -> bool:
        return is_ours(repository, id_, workspace) and not (tip and find_revert(repository, id_, tip))

    pattern = f"refs/heads/agent/{workspace.named}-*"
    for line in repository.git("for-each-ref", "--format=%(objectname) %(refname)", pattern).text.splitlines():
        id_, _, name = line.partition(" ")
        if counts(id_):
            return _describe(repository, id_, name.removeprefix("refs/heads/"))
    return find_landed(repository, workspace)


def find_landed(repository: Repository, workspace: Workspace) -> Commit | None:
    """Return the task's commit in the target's history, whichever node put it there.

    Returns None if there is no such commit, or if it was reverted.
    """
    tip = repository.resolve(workspace.target)[0] if workspace.target else None
    since = [f"--since={int(workspace.since.timestamp()) - 1}"] if workspace.since else []
    grep = ("log", "--format=%H", "--fixed-strings", f"--grep=Task: {workspace.named}", *since)
    candidates = repository.view(*grep, tip).text.split() if tip else []
    ours = next(
        (
            id_
            for id_ in candidates
            if is_ours(repository, id_, workspace) and not find_revert(repository, id_, tip or "")
        ),
        None,
    )
    return _describe(repository, ours, workspace.branch) if ours else None


def facts(repository: Repository, commit: str) -> CommitFacts:
    """Return a commit (full id) as git stores it."""
    raw = repository.read_commit(commit)
    message = raw.message.decode("utf-8", "replace")
    return CommitFacts(id=commit, tree=raw.tree, parents=raw.parents, message=message)


def contains(repository: Repository, tip: str, commit: str) -> bool:
    """Return True if the history of `tip` contains the commit."""
    answer = repository.view.ask("merge-base", "--is-ancestor", commit, tip)
    if answer.code not in {0, 1}:
        raise GitError(f"git merge-base failed: {answer.error}")
    return answer.code == 0


def newest(repository: Repository, start: str, limit: int) -> tuple[LogLine, ...]:
    """Return the newest commits that can be reached from `start` (full id), newest first."""
    form = "--format=%H%x1f%ct%x1f%an%x1f%B"
    text = repository.view("log", "-z", f"--max-count={limit}", form, start).out.decode("utf-8", "replace")
    return tuple(protocol.log_line(entry, repository.home) for entry in text.split("\0") if entry)


def touching(repository: Repository, tip: str, path: str) -> frozenset[str]:
    """Return the ids of all commits in the history of `tip` that changed a path."""
    return frozenset(repository.view("log", "--format=%H", "--no-renames", tip, "--", path).out.decode("ascii").split())


def write_note(repository: Repository, commit: str, text: str, committer: bytes) -> None:
    """Write the note on a commit and replace an earlier note.

    Raises:
        ReferenceLocked: The notes are locked.
        GitError: The note could not be stored.
    """
    edits, tip, refused = protocol.note_edits(commit, text), repository.resolve(NOTES)[0], ""
    for _ in range(TRIES):
        note = RawCommit(
            tree=repository.read_commit(tip).tree if tip else "",
            parents=(tip,) if tip else (),
            author=committer,
            committer=committer,
            message=b"Evidence\n",
        )
        if not (refused := repository.move((NOTES, repository.write_commit(note, edits), tip), reflog=False)):
            return
        before, tip = tip, repository.resolve(NOTES)[0]
        if tip == before:
            break
    raise GitError(f"the note on {commit} could not be stored: {refused}")


def read_note(repository: Repository, commit: str) -> str | None:
    """Read the note on a commit (full id), written by `write_note` or by git itself; None if there is none."""
    tip = repository.resolve(NOTES)[0]
    root = repository.read_commit(tip).tree if tip else None
    for path in protocol.note_paths(commit):
        if root and (blob := find(root, path, repository.reader.tree)):
            return repository.reader.get(blob)[1].decode("utf-8", "replace")
    return None


def _describe(repository: Repository, id_: str, branch: str) -> Commit:
    raw = repository.read_commit(id_)
    return Commit(id=id_, tree=raw.tree, branch=branch, parent=raw.parents[0] if raw.parents else "")
