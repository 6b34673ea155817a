"""Checks whether a task could begin in a repository, before anything is opened or written there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from nightshift.core.errors import GitError
from nightshift.git import protocol
from nightshift.git.commands import Git
from nightshift.git.discovery import (
    CLASHING_BRANCH,
    clash_of,
    discover,
    explain_no_base,
    explain_no_commit,
    refuse_unusable,
    resolve_given,
)

WALL_S = 10.0
NEAREST_OF = 5000


def refuse_unusable_place(repo: str, base: str | None, environ: Mapping[str, str]) -> None:
    """Check a repository and the commit that a task would start from.

    Args:
        repo: A checkout, a linked worktree, or a folder in one of these.
        base: A branch, tag or commit; None is the commit that is checked out.
        environ: The daemon's environment.

    Raises:
        GitError: The repository or the base cannot be used; the message begins with the field, `repo: ` or `base: `.
    """
    location = discover(_existing(repo), environ)
    refuse_unusable(location)
    git = Git(location.folder, protocol.private_environment(environ))
    if _is_commit(git, CLASHING_BRANCH):
        raise GitError(clash_of(location.root))
    if base is None:
        if not _is_commit(git, "HEAD"):
            raise explain_no_commit(git, location.root)
        return
    if "\n" in base:
        raise GitError("base: must be one line")
    if not (_is_commit(git, f"refs/heads/{base.removeprefix('refs/heads/')}") or _is_commit(git, base)):
        raise explain_no_base(git, location.root, base, _suggest(base, _names(git)))


def list_paths(repo: str, base: str | None, environ: Mapping[str, str]) -> list[str]:
    """List the files of the commit that a task would start from; the arguments are those of `refuse_unusable_place`.

    Raises:
        GitError: The repository or the commit cannot be read.
    """
    location = discover(resolve_given(repo), environ)
    git = Git(location.folder, protocol.private_environment(environ))
    listed = git("ls-tree", "-r", "-z", "--name-only", "--full-tree", base or "HEAD", timeout_s=WALL_S)
    return listed.out.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _existing(repo: str) -> Path:
    """Return the named folder.

    If it does not exist, raise an error that suggests a similar name in the same parent folder.
    """
    try:
        return resolve_given(repo)
    except GitError as error:
        path = Path(repo).expanduser()
        try:
            if not path.is_absolute() or path.exists():
                raise
            beside = [each.name for each in path.parent.iterdir() if each.is_dir()][:NEAREST_OF]
        except OSError:
            raise error from None
        near = difflib.get_close_matches(path.name, beside, n=1)
        raise GitError(f"{error}; did you mean {path.parent / near[0]}?" if near else str(error)) from None


def _is_commit(git: Git, name: str) -> bool:
    asked = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", timeout_s=WALL_S)
    return asked.code == 0


def _names(git: Git) -> list[str]:
    shown = git.ask(
        "for-each-ref", f"--count={NEAREST_OF}", "--format=%(refname:short)", "refs/heads", "refs/tags",
        timeout_s=WALL_S,
    )  # fmt: skip
    return shown.text.splitlines()


def _suggest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]}?" if near else ""
