"""Shows and changes the settings of repositories for the API and the command line, and reads them for attempts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightshift.app.git_beside import git_beside
from nightshift.app.submission import unknown_rules
from nightshift.config.load import Settings
from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.repository_commands import Found
from nightshift.core.errors import GitError, InvalidTask, UnknownCommit
from nightshift.core.events import Emitter, Kind
from nightshift.core.ports import Sink
from nightshift.core.tasks.preflight import Preflight, state_key
from nightshift.core.tasks.repository_settings import (
    RepositoryOptions,
    RepositorySettings,
    change_settings,
    describe_settings,
    readable,
)
from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.git.manager import GitManager
from nightshift.sandbox import orphans
from nightshift.storage.db import repositories
from nightshift.storage.db.codec import from_json_value
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import read_state, write_state
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.environments import setup_scripts
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.languages.repository_commands.find import find, is_judged_here

WRITE_WALL_S = 20.0


def kept_for(spec: TaskSpec, db: Database, settings: Settings) -> RepositorySettings:
    """Read the owner's settings for the repository of a task from the database."""
    return readable(repositories.read_settings(db.reader(), _folder(spec.repo, settings))[1])[0]


def _folder(repo: str | None, settings: Settings) -> str:
    return str((Path(repo).expanduser() if repo else settings.workspace).resolve())


class RepositoryService:
    """Gives access to the settings of repositories; may be called from any thread.

    Args:
        settings: returns the current settings of the daemon.
        db: stores the repositories' settings.
        git: reads the repositories' files.
        emit: receives an event for each change.
        clock: gives the times of changes.
    """

    def __init__(
        self, settings: Callable[[], Settings], db: Database, git: GitManager, emit: Sink, clock: Clock = utc_now
    ) -> None:
        self._settings, self._db, self._git, self._clock = settings, db, git, clock
        self._events = Emitter(emit)

    def settings_for(self, spec: TaskSpec) -> RepositorySettings:
        """Read the owner's settings for the repository of a task."""
        return kept_for(spec, self._db, self._settings())

    def base_of(self, repo: str) -> str | None:
        """Return the branch that the owner set as the base of a repository's tasks; None if the owner set none."""
        return readable(self._read_kept(_folder(repo, self._settings()))[1])[0].base

    def list_repositories(self) -> list[str]:
        """List the paths of repositories that tasks have used or that have settings, with the workspace first."""
        conn = self._db.reader()
        own = [str(self._settings().workspace.resolve())]
        return list(dict.fromkeys((*own, *repositories.list_used(conn), *repositories.with_settings(conn))))

    def show(self, repo: str) -> RepositoryOptions:
        """Return the settings of a repository with the source of each value.

        Args:
            repo: a checkout, or a folder in a checkout.

        Raises:
            GitError: `repo` is not a repository; other git errors are reported in the returned object.
        """
        folder = _folder(repo, self._settings())
        if folder == _folder(None, self._settings()) and not (Path(folder) / ".git").exists():
            return self._option_of(folder, "", Found(), {}, "nothing was done in the workspace yet")
        status = self._git.statuses.read(folder)
        stored_settings = self._read_kept(status.root)[1]
        try:
            commit = self._git.resolve(folder, readable(stored_settings)[0].base or "HEAD")
            tree = self._git.tree(folder, commit)
            declarations, error, draft = find(tree), "", setup_scripts.draft(DeclaredFiles(tree))
            ours = any(is_judged_here(tree.entries(), language) for language in Language)
        except GitError as fault:
            commit, declarations, error, ours, draft = "", Found(), str(fault), True, ""
        branch = {"base": status.branch, "target": status.branch}
        return replace(self._option_of(status.root, commit, declarations, branch, error, ours=ours), setup_draft=draft)

    def change(self, repo: str, changes: Mapping[str, Any]) -> RepositoryOptions:
        """Set the given values, and remove the settings whose value is None; if one value is wrong, nothing is changed.

        Raises:
            InvalidTask: values are wrong; the message names the fields and what each accepts.
            GitError: `repo` is not a repository.
        """
        root = self.show(repo).repo
        stored_settings = change_settings(self._sound(root), changes)
        self._refuse_unknown(root, stored_settings)
        self._db.write(lambda conn: repositories.keep_settings(conn, root, stored_settings, self._clock())).result(
            WRITE_WALL_S
        )
        words = ", ".join(f"{name}: {'removed' if value is None else value}" for name, value in changes.items())
        self._events.emit(Kind.SETTINGS_RELOADED, f"for the tasks of {root}: {words}"[:500])
        return self.show(root)

    def store_check(self, check: Preflight) -> None:
        """Store the result of running a repository's suite without any change."""
        key = state_key(check.repo, check.language)
        self._db.write(lambda conn: write_state(conn, key, check, self._clock())).result(WRITE_WALL_S)

    def _checks(self, repo: str) -> tuple[Preflight, ...]:
        """Return the latest results of running a repository's suites without any change, one for each language."""
        stored = (read_state(self._db.reader(), state_key(repo, language)) for language in Language)
        return tuple(from_json_value(Preflight, row) for row in stored if row)

    def _refuse_unknown(self, root: str, stored_settings: Mapping[str, Any]) -> None:
        """Refuse settings that name rules or branches that do not exist.

        Raises:
            InvalidTask: names the unknown rules and branches.
        """
        faults = unknown_rules(stored_settings.get("allow", ()), CommandHooks(self._settings().blocked_commands))
        for name in ("base", "target"):
            branch = stored_settings.get(name, "")
            try:
                if branch:
                    self._git.resolve(root, f"refs/heads/{branch}" if name == "target" else branch)
            except UnknownCommit:
                faults[name] = f"{branch}: {root} has no such branch; make it there first, or name another"
        if faults:
            raise InvalidTask(faults)

    def _sound(self, root: str) -> dict[str, Any]:
        """Return the stored settings that this version can read.

        The unreadable ones are left out, because they would make every change fail.
        """
        stored_settings = self._read_kept(root)[1]
        wrong = {name.partition(".")[0] for name in readable(stored_settings)[1]}
        return {name: value for name, value in stored_settings.items() if name not in wrong}

    def _read_kept(self, folder: str) -> tuple[str, dict[str, Any]]:
        return repositories.read_settings(self._db.reader(), folder)

    def _option_of(
        self, repo: str, commit: str, declarations: Found, of_git: Mapping[str, Any], error: str, *, ours: bool = True
    ) -> RepositoryOptions:
        stored_settings = self._read_kept(repo)[1]
        settings = self._settings()
        otherwise = {
            "integrate": settings.git_integrate, "integrate_self_tested": settings.integrate_self_tested,
            "review": settings.enable_review, "audit": settings.enable_audit,
            "iterations": settings.max_iterations, "wall_s": settings.task_timeout,
            "model_calls": settings.task_model_calls, "tokens": settings.task_tokens,
            "cost_usd": settings.task_cost_usd, "suite_s": settings.suite_timeout_s,
            "memory_mb": settings.sandbox_memory_mb, "cpus": settings.sandbox_cpus, "pids": settings.sandbox_pids,
            "work_mb": settings.sandbox_work_mb, **of_git,
        }  # fmt: skip
        return RepositoryOptions(
            repo=repo,
            commit=commit,
            options=describe_settings(stored_settings, declarations, otherwise, own_runs=ours),
            commands=declarations.commands,
            linters=declarations.linters,
            faults=readable(stored_settings)[1],
            error=error,
            checks=self._checks(repo),
        )


@contextmanager
def open_service(settings: Settings, *, to_change: bool) -> Iterator[RepositoryService]:
    """Open the service in a process without a daemon.

    A missing database is created only if `to_change` is set.
    """
    with tempfile.TemporaryDirectory(prefix=orphans.prefix("settings")) as folder:
        path = settings.db_path if to_change or settings.db_path.exists() else Path(folder) / "empty.sqlite"
        reading = not to_change and path == settings.db_path
        with git_beside(settings, Path(folder)) as git, Database(path, readonly=reading) as database:
            events = EventLog(database, mask=Masker(settings.secrets))
            yield RepositoryService(lambda: settings, database, git, events.emit)
