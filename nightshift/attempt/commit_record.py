"""Builds the ledger's row of a commit: its ids, its files, and the results of its attempt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from nightshift.core.code.tree import Tree
from nightshift.core.errors import GitError
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.projects import WHOLE, Scope
from nightshift.core.tasks.remarks import mask_remarks
from nightshift.core.tasks.revisions import ChangedFile, Commit, Workspace
from nightshift.core.tasks.task import Change, Files, Task
from nightshift.core.tasks.verdicts import Result, Verdict
from nightshift.git.manager import GitManager
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit as LedgerEntry

_MOST_FAILING = 20
"""Maximum number of failing tests that the ledger names for a draft."""
_ASKS_FOR_TESTS = re.compile(r"\btests?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """A recorded commit with its task and state. `verdict` is the last verdict on what was committed."""

    task: Task
    workspace: Workspace
    state: AttemptState
    commit: Commit
    verdict: Verdict | None
    integrated: bool


def commit_row(
    landing: Landing, subject: str, files: tuple[ChangedFile, ...] | None, at: datetime, mask: Callable[[str], str]
) -> LedgerEntry:
    """Return the ledger's row of a commit. Secrets in paths are masked, because a model may have written the paths."""
    task, state, commit, verdict = landing.task, landing.state, landing.commit, landing.verdict
    return LedgerEntry(
        task_id=task.id,
        attempt=task.attempt,
        repo=str(landing.workspace.repo),
        branch=commit.branch,
        commit=commit.id,
        base=commit.parent,
        subject=subject,
        label=str(verdict.evidence.label) if verdict else "",
        model=", ".join(dict.fromkeys(state.models)),
        iterations=state.iteration,
        integrated=landing.integrated,
        target=landing.workspace.target or "",
        files=files and tuple(replace(file, path=mask(file.path)) for file in files),
        signs=_signs(state, verdict, landing.workspace.scope, mask),
        at=at,
    )


def asks_for_tests(task: Task) -> bool:
    """Check whether the description of a task mentions tests."""
    return bool(_ASKS_FOR_TESTS.search(task.spec.description))


def change_to_commit(task: Task, state: AttemptState) -> Change:
    """Return all files to commit: the judged files, without those that the suite left out.

    If no source had to be changed, the agent's own tests only served to show that. They are then left out, unless the
    task asks for tests.
    """
    left_out = state.verdict.evidence.dropped if state.verdict else {}
    change = {path: text for path, text in state.change.items() if path not in left_out}
    wanted = change or asks_for_tests(task)
    tests = {**dict.fromkeys(state.removed_tests), **state.own_tests} if wanted else {}
    return {**change, **tests, **task.spec.tests, **state.merged_tests}


def list_changed_files(
    git: GitManager, workspace: Workspace, commit: Commit, task: Task
) -> tuple[ChangedFile, ...] | None:
    """Return the files that a commit changed, by their full paths, with the numbers of added and removed lines.

    A new file that came with the task is compared with the task's text, because those lines are the owner's. Lines are
    compared as a multiset, which takes linear time; a line that only moved counts neither as added nor as removed.
    Returns None if git cannot read the trees: the commit exists, and figures for the report are not worth failing its
    task.
    """
    full_workspace = replace(workspace, scope=WHOLE)
    try:
        paths = git.list_changed_paths(full_workspace, commit.parent, commit.id)
        trees = git.tree(full_workspace, commit.parent), git.tree(full_workspace, commit.id)
        return tuple(_differing(*trees, paths, task.spec.files))
    except GitError:
        return None


def _differing(before: Tree, after: Tree, paths: Iterable[str], given: Files) -> Iterable[ChangedFile]:
    old, new = before.entries(), after.entries()
    for path in sorted(paths):
        if old.get(path) != new.get(path):
            earlier = _bytes(before, old, path) if path in old else given.get(path, "").encode()
            yield _compare(path, earlier, _bytes(after, new, path))


def _compare(path: str, old: bytes, new: bytes) -> ChangedFile:
    if b"\0" in old or b"\0" in new:
        return ChangedFile(path=path, added=None, removed=None)
    then, now = Counter(old.splitlines()), Counter(new.splitlines())
    return ChangedFile(path=path, added=(now - then).total(), removed=(then - now).total())


def _bytes(tree: Tree, entries: Mapping[str, str], path: str) -> bytes:
    return tree.read(path) if path in entries else b""


def _signs(state: AttemptState, verdict: Verdict | None, scope: Scope, mask: Callable[[str], str]) -> Signs:
    evidence = verdict.evidence if verdict else None
    return Signs(
        own_tests=tuple(map(mask, sorted(map(scope.full, state.own_tests)))),
        changed_tests=tuple(map(mask, sorted(map(scope.full, state.changed_tests)))),
        removed_tests=tuple(map(mask, sorted(map(scope.full, state.removed_tests)))),
        tests=len(verdict.results) if verdict else 0,
        tests_passed=verdict.count(Result.PASSED) if verdict else 0,
        failing=tuple(map(mask, sorted(verdict.failing)[:_MOST_FAILING])) if verdict else (),
        held_out=evidence.held_out if evidence else 0,
        escalations=state.escalation,
        packages=state.packages,
        findings=tuple(map(mask, sorted(state.noted))),
        left_out=tuple(map(mask, sorted(evidence.dropped))) if evidence else (),
        remarks=mask_remarks(state.open_remarks, mask, scope.full),
    )
