"""Rebases and merges commits by a three-way merge that needs no checkout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nightshift.core.errors import GitError, MergeConflict
from nightshift.core.tasks.revisions import Commit
from nightshift.git import protocol
from nightshift.git.objects import RawCommit, find, find_planted
from nightshift.git.repository import Repository

SHOWN = 3
"""Maximum number of conflicting files that are quoted."""


def rebase(repository: Repository, commit: Commit, tip: str, committer: bytes) -> Commit:
    """Return a new commit, on no branch, with the same change on top of `tip`.

    The merge base is set by a stand-in commit, which has the tip's tree and the change's parent. So git finds exactly
    this merge base at once, even if the target's history was rewritten. A stand-in is needed because git accepts the
    merge base as an argument only since version 2.40.

    Raises:
        MergeConflict: The commit and the tip changed the same lines, which the message shows, or together they make a
            folder that git treats as a repository.
    """
    ours, theirs = repository.read_commit(commit.id), repository.read_commit(tip)
    stand_in = repository.write_commit(replace(theirs, parents=(commit.parent,)))
    merged, clean = three_way(repository, stand_in, commit.id)
    commit_id = repository.write_commit(replace(ours, tree=merged.tree, parents=(tip,), committer=committer))
    if not clean:
        raise _conflict(repository, merged, commit_id, {stand_in: "the newer work", commit.id: "this change"})
    if (folder := find_planted(theirs.tree, merged.tree, repository.reader.tree)) is not None:
        why = f"with the newer work, git would take the folder {folder or '.'!r} for a repository; rename HEAD in it"
        inside = (path for path in repository.tree(commit.id).records if not folder or path.startswith(f"{folder}/"))
        raise MergeConflict(tuple(inside), why, merged=commit_id)
    return replace(commit, id=commit_id, tree=merged.tree, parent=tip)


def merge(repository: Repository, ours: str, theirs: str, by: bytes) -> str:
    """Return a new commit, on no branch, that merges two commits.

    Raises:
        MergeConflict: The commits changed the same lines.
    """
    merged, clean = three_way(repository, ours, theirs)
    if not clean:
        raise MergeConflict(merged.conflicts)
    text = f"Merge {theirs[:10]} into {ours[:10]}\n".encode()
    commit = RawCommit(tree=merged.tree, parents=(ours, theirs), author=by, committer=by, message=text)
    return repository.write_commit(commit)


def three_way(repository: Repository, ours: str, theirs: str) -> tuple[protocol.MergeAnswer, bool]:
    """Merge two commits by a three-way merge with their merge base, without a checkout.

    The second returned value is True if nothing conflicts.
    """
    # If the change renames a folder, files that newer work added to the folder move too. The merged tree is judged
    # anyway.
    merge = (
        *("-c", "merge.directoryRenames=true"),
        *("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs),
    )
    answer = repository.view.ask(*merge)
    if answer.code not in {0, 1}:  # Packing removes empty folders, even one that git has just created for an object
        answer = repository.view.ask(*merge)
    if answer.code not in {0, 1}:
        raise GitError(f"git merge-tree failed: {answer.error}")
    return protocol.parse_merge(answer.out), answer.code == 0


def _conflict(
    repository: Repository, merged: protocol.MergeAnswer, commit_id: str, names: Mapping[str, str]
) -> MergeConflict:
    """Return the conflict, described for a model by the files and the conflicting lines."""
    parts = [f"newer work conflicts with this change in {', '.join(merged.conflicts)}"]
    for path in merged.conflicts[:SHOWN]:
        blob = find(merged.tree, path, repository.reader.tree)
        text = repository.reader.get(blob)[1].decode("utf-8", "replace") if blob else ""
        for id_, name in names.items():
            text = text.replace(id_, name)
        if excerpt := protocol.conflict_excerpt(text):
            parts.append(f"{path}:\n{excerpt}")
    return MergeConflict(merged.conflicts, "\n\n".join(parts), merged=commit_id)
