"""Verifies a commit again in a separate process, with or without a running daemon."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from nightshift.app.environments import SetupConsent, decisions_of, make_environments
from nightshift.app.git_beside import git_beside
from nightshift.app.suites import find_sandbox, make_checker, make_suite
from nightshift.attempt import evidence
from nightshift.attempt.verify import OpenedSuite, Report, Verification
from nightshift.config.load import Settings
from nightshift.core.errors import SandboxError, StoreError, UnknownCommit, UnknownName
from nightshift.core.text.masking import Masker
from nightshift.git.manager import GitManager
from nightshift.queue.manager import QueueManager
from nightshift.sandbox import orphans
from nightshift.sandbox.runtime import open_runtime
from nightshift.server.naming import Named, Naming, ambiguous
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.verdict.environments.layers import LayerStore


async def verify_commit(name: str, repo: Path | None, settings: Settings) -> Report:
    """Verify a commit again.

    Args:
        name: the name of the commit, see `locate`.
        repo: a checkout; None means the one in the ledger's entry for the commit, or else the daemon's workspace.
        settings: settings of the home whose sandbox and seal are used.

    Raises:
        UnknownCommit: there is no such commit.
        AmbiguousName: several commits match; the message names them.
        NoEvidence: the commit has no evidence note.
        GitError: the repository cannot be used.
    """
    prefix = orphans.prefix("verify")
    with tempfile.TemporaryDirectory(prefix=prefix) as folder, git_beside(settings, Path(folder)) as git:
        where, commit = locate(git, name, repo, settings)
        looking = Verification(git, where, suites(settings, Path(folder)), evidence.read_key(settings.seal_file))
        return await looking.verify(commit)


def locate(git: GitManager, name: str, repo: Path | None, settings: Settings) -> tuple[str, str]:
    """Return the repository and the full id of the commit with this name.

    Args:
        git: reads repositories.
        name: a name that `server.naming` finds in the ledger, or any branch, tag or commit of the repository.
        repo: a checkout; None means the one in the ledger's entry for the commit, or else the daemon's workspace.
        settings: settings of the home with the ledger.

    Raises:
        UnknownCommit: there is no such commit, or no workspace yet.
        AmbiguousName: several commits match; the message names them.
        GitError: the repository cannot be used.
    """
    given = repo and repo.expanduser().resolve()
    named = _of_ledger(name, str(given) if given else None, settings)
    if named and named.commit is None:
        raise UnknownCommit(f"task {named.task_id} made no commit")
    where = given or (Path(named.repo) if named else settings.workspace)
    if where == settings.workspace and not (where / ".git").exists():
        raise UnknownCommit(f"there is no workspace in {where} yet; name a repository with --repo")
    commits = _of_git(git, str(where), name, named)
    if not commits:
        raise UnknownCommit(f"{where} has no branch, tag or commit {name!r}, and none that begins with it")
    if len(set(commits.values())) > 1:
        raise ambiguous(name, list(commits))
    return str(where), next(iter(commits.values()))


def _of_git(git: GitManager, where: str, name: str, named: Named | None) -> dict[str, str]:
    """Map a description of each commit that matches the name to the commit's full id.

    A branch that exists stands for its current head.
    """
    if named is None:
        return git.fitting(where, name)
    commit = named.commit or ""
    if named.by == "branch":
        return {named.branch: git.branch_at(where, named.branch) or commit}
    return {f"{named.by} {named.task_id if named.by == 'task' else commit[:12]}": commit} | {
        what: each for what, each in git.commits_beginning(where, name).items() if each != commit
    }


def _of_ledger(name: str, repo: str | None, settings: Settings) -> Named | None:
    """Look a name up in Nightshift's records; return None if it is not found."""
    if not settings.db_path.exists():
        return None
    try:
        with Database(settings.db_path, readonly=True) as database:
            events, mask = EventLog(database), Masker(settings.secrets)
            return Naming(database, QueueManager(database, events), events, mask).find(name, repo)
    except (UnknownName, StoreError):
        return None  # without the database, the data in git are enough


def suites(settings: Settings, folder: Path) -> Callable[[], Awaitable[OpenedSuite]]:
    """Return a function that finds a sandbox when it is called.

    No sandbox is started in advance, because only a single commit is judged.
    """

    async def open_suite() -> OpenedSuite:
        try:
            runtime = open_runtime(settings.runner_dir)
            layers = LayerStore(settings.packages_dir, runtime, environ=settings.process_environment)
        except SandboxError as error:
            return OpenedSuite(suite=None, why_not=str(error))
        choice = await find_sandbox(settings, runtime, folder)
        if choice.sandbox is None:
            return OpenedSuite(suite=None, why_not=choice.report)
        consent = SetupConsent(
            settings=lambda: settings, decision=decisions_of(settings.db_path), sandbox=choice.sandbox.name
        )
        try:
            environments = make_environments(settings, runtime, consent=consent)
        except SandboxError as error:
            return OpenedSuite(suite=None, why_not=str(error))
        hooks = make_checker(settings).hooks
        suite = make_suite(
            settings, choice.sandbox, runtime, staging_dir=folder / "staging", layers=layers,
            environments=environments, hooks=hooks, mask=Masker(settings.secrets),
        )  # fmt: skip
        return OpenedSuite(suite=suite, environments=environments)

    return open_suite
