"""Runs the suite of a repository in a process of its own, beside a daemon or without one, and keeps what came of it."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

from nightshift.app.git_beside import git_beside
from nightshift.app.repository_settings import open_service
from nightshift.app.services import defaults
from nightshift.app.submission import choose_language_here
from nightshift.app.verify import suites
from nightshift.attempt.preflight import SuiteCheck, choose_command
from nightshift.config.load import Settings
from nightshift.core.clock import utc_now
from nightshift.core.code.environments import NO_ENVIRONMENT
from nightshift.core.errors import SandboxError
from nightshift.core.tasks.preflight import Preflight
from nightshift.core.tasks.task import TaskSpec
from nightshift.sandbox import orphans
from nightshift.verdict.languages.repository_commands.find import find


async def check_repository(repo: str, settings: Settings) -> Preflight:
    """Run the suite of the commit that tasks in a repository start from, in the environment that it declares.

    Args:
        repo: a checkout or a folder in one.
        settings: of the home whose sandbox is used, and that keeps the result.

    Raises:
        GitError: it is no repository.
        SandboxError: nothing can be executed here.
        CommandBlocked: its command is one of those that never run.
    """
    prefix = orphans.prefix("check")
    with (
        tempfile.TemporaryDirectory(prefix=prefix) as folder,
        git_beside(settings, Path(folder)) as git,
        open_service(settings, to_change=settings.db_path.exists()) as service,
    ):
        root = service.show(repo).repo
        asked = TaskSpec(description="", repo=root)
        stored = service.kept(asked)
        spec = stored.applied(asked)
        spec = replace(spec, language=choose_language_here(spec, settings))
        tree = git.tree(root, git.resolve(root, spec.base or "HEAD"))
        files = find(tree)
        if command := choose_command(tree, spec, files):
            spec = replace(spec, test_command=command.words)
        suite = await suites(settings, Path(folder))()
        if suite.suite is None or suite.environments is None:
            raise SandboxError(suite.why_not)
        declared = await suite.environments.of(tree)
        making = await suite.environments.make(tree, declared) if declared.digest else None
        check = SuiteCheck(
            repo=root,
            tree=tree,
            spec=spec,
            environment=making.environment if making else NO_ENVIRONMENT,
            test_paths=files.choose_test_paths(stored.test_paths),
            limits=spec.limits.over(defaults(settings).limits).of_run(),
        )
        result = await check.run(suite.suite, utc_now())
        if settings.db_path.exists():
            await asyncio.to_thread(service.store_check, result)
        return result
