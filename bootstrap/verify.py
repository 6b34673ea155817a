"""Looks at a commit again in a process of its own, beside a daemon or without one."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from attempt import evidence
from attempt.verify import OpenedSuite, Report, Verification
from bootstrap.environments import make_environments
from bootstrap.suites import drop_event, find_sandbox, make_checker, make_suite
from config import Settings
from core.errors import SandboxError, UnknownCommit
from core.masking import Masker
from core.revisions import Author
from environments.layers import LayerStore
from git_manager import GitManager
from sandbox import orphans
from sandbox.runtime import open_runtime


async def verify_commit(name: str, repo: Path | None, settings: Settings) -> Report:
    """Look at a commit of a repository again, or of the daemon's own.

    Args:
        name: a branch, a tag or a commit, also shortened.
        repo: a checkout; None is the daemon's workspace.
        settings: of the home whose sandbox and seal are used.

    Raises:
        UnknownCommit: there is no such commit.
        NoEvidence: it has no note.
        GitError: the repository cannot be used.
    """
    where = repo or settings.workspace
    if repo is None and not (where / ".git").exists():
        raise UnknownCommit(f"there is no workspace in {where} yet; name a repository with --repo")
    with tempfile.TemporaryDirectory(prefix=orphans.prefix("verify")) as folder:
        # The workspace of the git manager holds its views; the daemon's own is not needed for that, nor touched.
        git = GitManager(
            workspace=Path(folder) / "views",
            author=Author(name="Nightshift", email="nightshift@localhost"),
            auto_push=False,
            emit=drop_event,
            environ=settings.process_environment,
        )
        try:
            looking = Verification(
                git,
                str(where.expanduser().resolve()),
                suites(settings, Path(folder)),
                evidence.read_key(settings.seal_file),
            )
            return await looking.verify(name)
        finally:
            git.close()


def suites(settings: Settings, folder: Path) -> Callable[[], Awaitable[OpenedSuite]]:
    """Finds a sandbox when there is something to run; nothing is kept warm for one commit."""

    async def opened() -> OpenedSuite:
        try:
            runtime = open_runtime(settings.runner_dir)
            layers = LayerStore(settings.packages_dir, runtime, environ=settings.process_environment)
            environments = make_environments(settings, runtime)
        except SandboxError as error:
            return OpenedSuite(suite=None, why_not=str(error))
        choice = await find_sandbox(settings, runtime, folder)
        if choice.sandbox is None:
            return OpenedSuite(suite=None, why_not=choice.report)
        hooks = make_checker(settings).hooks
        suite = make_suite(
            settings, choice.sandbox, runtime, staging_dir=folder / "staging", layers=layers,
            environments=environments, hooks=hooks, mask=Masker(settings.secrets),
        )  # fmt: skip
        return OpenedSuite(suite=suite, environments=environments)

    return opened
