"""Builds a commit's proof: task, change, verdict, evidence and digests as one self-contained HTML file.

The file is meant for a reader who has neither this machine nor Nightshift. It therefore has no script and loads
nothing, its texts are escaped, secrets are masked, and folders of this machine are replaced by placeholders. The file
gives only the number of held-out cases and not the cases, because a reader may later write code that these cases judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from nightshift.attempt.evidence import Note, read_note
from nightshift.core.code.tree import Tree
from nightshift.core.errors import GitError, NoEvidence, UnknownTask
from nightshift.core.tasks.commit_message import draft_of, task_of
from nightshift.core.tasks.revisions import CommitFacts
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import Label
from nightshift.git.manager import GitManager
from nightshift.queue.manager import QueueManager
from nightshift.server.diffs.changes import FileDiff, State, compare
from nightshift.server.formatting import Mask, full_text
from nightshift.server.proof.recipe import recipe
from nightshift.storage.db.state_store import Commit

if TYPE_CHECKING:
    from jinja2 import Template

WORTH: Mapping[Label, str] = {
    Label.VERIFIED: "the owner's tests passed, and cases that no prompt showed gave the right values",
    Label.TESTS_PASSED: "the owner's tests passed; no case was held out from the model",
    Label.BEHAVIOUR_KEPT: "tests of the base that reach the change passed without it and with it",
    Label.SELF_TESTED: "tests that the agent wrote itself passed; they fail without the change",
    Label.EXIT_CODE: "a command ended with exit status 0; what it checked is not known",
    Label.DOCUMENTED: "only documentation was changed, and it was checked",
    Label.REMOVED: "files were removed, and the remaining tests passed",
    Label.DOUBTFUL: "the tests passed, but other evidence speaks against them; it is integrated only on request",
}
"""Meaning of each label, for a reader who does not have the manual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A proof as a file, with the file's name and its HTML."""

    name: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A commit to prove.

    `task` is the task that led to the commit, None if this installation does not have that task.
    """

    repo: str
    commit: str
    task: Task | None = None


def subject_of(queue: QueueManager, entry: Commit) -> Subject:
    """Return the commit of a ledger entry, with its task if it still exists."""
    try:
        task = queue.get(entry.task_id)
    except UnknownTask:
        task = None
    return Subject(repo=entry.repo, commit=entry.commit, task=task)


def proof_of(git: GitManager, subject: Subject, mask: Mask) -> Proof:
    """Read a commit and its note of evidence, and render the proof.

    Raises:
        UnknownCommit: the commit does not exist.
        NoEvidence: the commit has no note of its own, or is a draft.
        UnreadableNote: the note cannot be parsed.
        GitError: the repository cannot be read, or the change has too many files.
    """
    commit = git.resolve(subject.repo, subject.commit)
    text, facts = git.read_note(subject.repo, commit), git.describe(subject.repo, commit)
    if text is None:
        raise NoEvidence(f"commit {commit[:12]} has no evidence here, so no proof can be made")
    note = read_note(text)
    if (note.commit, note.tree, note.base) != (facts.id, facts.tree, " ".join(facts.parents)):
        raise NoEvidence(f"the note of commit {commit[:12]} was written for another commit, so it proves nothing here")
    if draft_of(facts.message) or note.evidence.label not in WORTH:
        raise NoEvidence(f"commit {commit[:12]} is a draft, which did not pass, so no proof can be made")
    shown = partial(full_text, mask=_without_folders(mask, Path(subject.repo)))
    trees = (git.tree(subject.repo, note.base), git.tree(subject.repo, commit))
    html = _template().render(_values(facts, note, text, trees, subject.task, shown))
    return Proof(name=f"proof-{commit[:12]}.html", html=html)


def _values(
    facts: CommitFacts, note: Note, text: str, trees: tuple[Tree, Tree], task: Task | None, shown: Callable[[str], str]
) -> dict[str, object]:
    base, tree = trees
    files = _differences(note, trees, shown)
    paths = [path for path in sorted(_list_changed(base, tree)) if path in tree.entries()]
    digests = {path: hashlib.sha256(tree.read(path)).hexdigest() for path in paths}
    subject, _, body = facts.message.strip().partition("\n")
    added = frozenset(digests.keys() - base.entries().keys())
    return {
        "shown": shown, "note": note, "evidence": note.evidence, "facts": facts, "subject": subject,
        "body": body.strip(), "task": task, "task_id": task_of(facts.message) or note.task,
        "worth": WORTH[note.evidence.label], "files": files, "digests": digests, "full": note.scope.full,
        "added": sum(file.added or 0 for file in files), "removed": sum(file.removed or 0 for file in files),
        "parts": recipe(note, digests, hashlib.sha256(text.encode()).hexdigest(), added=added),
    }  # fmt: skip


def _list_changed(base: Tree, tree: Tree) -> set[str]:
    old, new = base.entries(), tree.entries()
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def _differences(note: Note, trees: tuple[Tree, Tree], shown: Callable[[str], str]) -> list[FileDiff]:
    own = frozenset(map(note.scope.full, (*note.own_tests, *note.tests)))
    base, tree = trees
    before = State(name=note.base, texts={}, tests=own, open_tree=lambda: base)
    after = State(name=note.commit, texts={}, tests=own, open_tree=lambda: tree)
    differences, left_out = compare(before, after, shown)
    if fault := before.fault or after.fault:
        raise GitError(fault)
    if left_out:
        raise GitError(f"the commit changes {left_out} more files than fit on one page")
    return differences


def _without_folders(mask: Mask, repo: Path) -> Mask:
    """Return a mask that also hides the folders that would identify this machine and its user."""
    folders = {str(repo): "(repository)", str(repo.resolve()): "(repository)", str(Path.home()): "~"}
    paths = sorted((each for each in folders if each != "/"), key=len, reverse=True)

    def masked(text: str) -> str:
        text = mask(text)
        for folder in paths:
            text = text.replace(folder, folders[folder])
        return text

    return masked


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  only a proof needs it

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("proof.html")
