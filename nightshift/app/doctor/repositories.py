"""Checks of git: the author of commits, the state of the workspace, leftover locks, and where pushes go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from nightshift.app.doctor.context import CheckContext, Finding, fault, note, ok, quote, warning
from nightshift.core.errors import GitError
from nightshift.core.program import format_command
from nightshift.git import protocol
from nightshift.git.commands import Git
from nightshift.git.configuration import Configuration
from nightshift.git.discovery import discover

FSCK_S, DEEP_S, REMOTE_S = 20.0, 600.0, 10.0
OLD_S = 600.0


def check_workspace(context: CheckContext) -> Iterator[Finding]:
    """Check the daemon's own repository."""
    workspace = context.settings.workspace
    folder = workspace / ".git"
    if not (folder / "HEAD").exists():
        yield note("workspace", f"{workspace} does not exist yet; the first task makes it")
        return
    configuration = discover(workspace, context.settings.process_environment).configuration
    yield _identity(context, configuration)
    yield from _sound(context, folder)
    yield from _locks(folder)
    yield from _remote(context, folder, configuration.remote_url)


def _identity(context: CheckContext, configuration: Configuration) -> Finding:
    name = context.settings.git_author_name or configuration.author.name
    email = context.settings.git_author_email or configuration.author.email
    return ok("identity", f"commits are by {name} <{email}>")


def _sound(context: CheckContext, folder: Path) -> Iterator[Finding]:
    git = Git(folder, protocol.private_environment(context.settings.process_environment))
    limit = DEEP_S if context.deep else FSCK_S
    kind = () if context.deep else ("--connectivity-only",)
    try:
        answer = git.ask("fsck", "--no-dangling", "--no-progress", *kind, timeout_s=limit)
    except GitError as error:
        yield note("fsck", str(error), f"{format_command('doctor --deep')} allows more time")
        return
    if answer.code:
        text = " ".join((answer.error or answer.text).split())[:300]
        path = folder.parent
        mend = f"keep a copy of {path}; `git -C {quote(path)} fsck` names what is gone; a remote or clone may have it"
        yield fault("fsck", text, mend)
    else:
        yield ok("fsck", "the workspace is sound" if context.deep else "all objects of the workspace are there")


def _locks(folder: Path) -> Iterator[Finding]:
    now, lock_files = time.time(), [*folder.glob("*.lock"), *(folder / "refs").rglob("*.lock")]
    old = [path for path in lock_files if now - path.stat().st_mtime > OLD_S]
    for path in old[:5]:
        yield fault(
            "lock file", f"{path} was left by a process that died", f"rm {quote(path)}   (when no git runs there)"
        )
    if not old:
        yield ok("lock files", "none found")


def _remote(context: CheckContext, folder: Path, url: str | None) -> Iterator[Finding]:
    if not context.settings.git_auto_push:
        yield ok("push", "git_auto_push is off")
        return
    if not url:
        yield ok("push", "the workspace has no remote, so nothing is pushed")
        return
    shown = protocol.without_password(url)
    if why := protocol.url_fault(url):
        yield fault("push", f"{shown}: {why}", f"git -C {quote(folder.parent)} remote set-url origin ADDRESS")
        return
    yield _reach(context, folder, url, shown)


def _reach(context: CheckContext, folder: Path, url: str, shown: str) -> Finding:
    env = protocol.push_environment(context.settings.process_environment)
    git = Git(folder, env, protocol.PUSH_SETTINGS)
    mend = f"try `git ls-remote {shown}` yourself; credentials have to work without a prompt"
    try:
        answer = git.ask("ls-remote", "--heads", "--", url, timeout_s=REMOTE_S)
    except GitError as error:
        return warning("push", f"{shown}: {error}", mend)
    if answer.code:
        return warning("push", f"{shown} cannot be reached: {' '.join(answer.error.split())[:200]}", mend)
    return ok("push", f"{shown} answers")
