"""A commit that is about to land, the change that was judged, and the check before a branch is moved to the commit."""

from __future__ import annotations

from dataclasses import dataclass

from nightshift.core.code.listing import listing_of
from nightshift.core.code.tree import Tree, blob_id, format_of
from nightshift.core.tasks.revisions import Commit, Workspace
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import Verdict
from nightshift.core.text.encoding import encode
from nightshift.git.manager import GitManager


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """A change and the verdict on it.

    Attributes:
        parent: full id of the commit on which the change was judged; or of another commit, if the run would see the
            same bytes there.
        change: every file that the change's commit changes, tests included, with paths relative to the task's scope.
        verdict: the verdict, or None for a change that was not judged.
    """

    parent: str
    change: Change
    verdict: Verdict | None


def find_fault(git: GitManager, workspace: Workspace, candidate: Commit, judged: JudgedChange) -> str:
    """Return why a candidate may not land; empty if the commit in git is exactly what was judged.

    The candidate's only parent must be the commit on which it was judged. Its tree must differ from its parent's. It
    must change no path that was not judged, and each judged path must have the bytes that the run saw.

    Raises:
        GitError: the candidate or its parent is not in the repository.
    """
    facts, parent = git.describe(workspace, candidate.id), git.describe(workspace, candidate.parent)
    if facts.parents != (judged.parent,):
        return f"it was judged on {judged.parent[:10]}, and its parent is {' '.join(facts.parents)[:10]}"
    if facts.tree == parent.tree:
        return f"it changes nothing on {parent.id[:10]}"
    full = {workspace.scope.full(path) for path in judged.change}
    if unjudged := sorted(git.list_changed_paths(workspace, candidate.parent, candidate.id) - full):
        return f"{unjudged[0]} was not judged"
    entries, form = git.tree(workspace, candidate.id).entries(), format_of(candidate.id)
    ids = {path: None if text is None else blob_id(encode(text), form) for path, text in sorted(judged.change.items())}
    other = next((path for path, id_ in ids.items() if entries.get(path) != id_), None)
    return "" if other is None else f"{workspace.scope.full(other)} differs from what was judged"


def differing(old: Tree, new: Tree) -> frozenset[str]:
    """Return the paths at which two trees hold different bytes."""
    return frozenset(listing_of(new.entries()).since(listing_of(old.entries())))
