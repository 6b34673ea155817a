"""Looks at a commit again in a process of its own, beside a daemon or without one."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from attempt import evidence
from attempt.verify import OpenedSuite, Report, Verification
from bootstrap.environments import SetupConsent, decisions_of, make_environments
from bootstrap.git_beside import git_beside
from bootstrap.suites import find_sandbox, make_checker, make_suite
from config import Settings
from core.errors import SandboxError, StoreError, UnknownCommit
from core.masking import Masker
from db.commit_ledger import CommitLedger
from db.database import Database
from db.event_log import EventLog
from environments.layers import LayerStore
from sandbox import orphans
from sandbox.runtime import open_runtime

_COMMIT = re.compile(r"[0-9a-fA-F]{4,64}")


async def verify_commit(name: str, repo: Path | None, settings: Settings) -> Report:
    """Look at a commit of a repository again, or of the daemon's own.

    Args:
        name: a branch, a tag or a commit, also shortened.
        repo: a checkout; None is the one that the ledger knows the commit of, else the daemon's workspace.
        settings: of the home whose sandbox and seal are used.

    Raises:
        UnknownCommit: there is no such commit.
        NoEvidence: it has no note.
        GitError: the repository cannot be used.
    """
    where = repository_of(name, repo, settings)
    prefix = orphans.prefix("verify")
    with tempfile.TemporaryDirectory(prefix=prefix) as folder, git_beside(settings, Path(folder)) as git:
        looking = Verification(
            git,
            str(where),
            suites(settings, Path(folder)),
            evidence.read_key(settings.seal_file),
        )
        return await looking.verify(name)


def repository_of(name: str, repo: Path | None, settings: Settings) -> Path:
    """Where a commit is looked for; see `verify_commit`.

    Raises:
        UnknownCommit: it would be the daemon's workspace, and there is none yet.
    """
    where = repo or _of_ledger(name, settings.db_path) or settings.workspace
    if where == settings.workspace and not (where / ".git").exists():
        raise UnknownCommit(f"there is no workspace in {where} yet; name a repository with --repo")
    return where.expanduser().resolve()


def _of_ledger(name: str, path: Path) -> Path | None:
    """The repository in which Nightshift made this commit; None where it is not known, or of several."""
    if not _COMMIT.fullmatch(name) or not path.exists():
        return None
    try:
        with Database(path, readonly=True) as database:
            rows = CommitLedger(database, EventLog(database)).named(name.lower())
    except StoreError:
        return None  # what git has can be looked at without the database
    found = {Path(row.repo) for row in rows}
    return next(iter(found)) if len(found) == 1 else None


def suites(settings: Settings, folder: Path) -> Callable[[], Awaitable[OpenedSuite]]:
    """Finds a sandbox when there is something to run; nothing is kept warm for one commit."""

    async def opened() -> OpenedSuite:
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

    return opened
