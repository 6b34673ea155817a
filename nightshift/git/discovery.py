"""Finds the repository that a task names, and rejects unusable repositories with helpful messages.

Nothing is written in a repository of another user, unless the owner marks it as safe. Git itself rejects such a
repository when it searches for one, but does not check a repository whose path is given, as here. If the daemon added
objects, their folders would belong to the daemon's user, and the git of the repository's owner could not write there
afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nightshift.core.code.tree import IdFormat
from nightshift.core.errors import GitError, RepositoryUnready
from nightshift.git.commands import Git
from nightshift.git.configuration import LOOK_S, Configuration, read_configuration
from nightshift.git.repository import Repository
from nightshift.git.trees import GitTree

MAIN = "refs/heads/main"
CLASHING_BRANCH = "refs/heads/agent"
"""Branch name that conflicts with the branches of tasks: while it exists, git cannot create a branch named agent/…."""
_SHOWN_CHARS = 200
"""Maximum characters to show of a name that the file system rejects."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Location of a checkout's repository.

    `folder` is git's folder for this checkout; `common` is shared by all worktrees. `variables` is the daemon's
    environment, which gives the location of the owner's own configuration.
    """

    root: Path
    folder: Path
    common: Path
    bare: bool
    variables: Mapping[str, str]

    @cached_property
    def configuration(self) -> Configuration:
        """Git's configuration for this checkout, read on first use. Raises GitError if git cannot read it."""
        return read_configuration(self.root, self.folder, self.common, self.variables)

    @property
    def config_stamp(self) -> tuple[int, int]:
        """The inode and the modification time (ns) of the repository's own configuration file.

        Git replaces this file as a whole.
        """
        try:
            status = (self.common / "config").stat()
        except OSError:
            return 0, 0
        return status.st_ino, status.st_mtime_ns

    @property
    def id_format(self) -> IdFormat:
        """The hash algorithm of the repository's object ids."""
        return "sha256" if self.configuration.value("extensions.objectformat") == "sha256" else "sha1"


def resolve_given(repo: str) -> Path:
    """Return the folder that a task names; raises GitError if it is not a folder."""
    path = Path(repo).expanduser()
    if not path.is_absolute():
        raise GitError(f"repo: {repo} must be an absolute path")
    try:
        there = path.is_dir()
    except OSError as error:  # The name is too long, or links form a loop
        raise GitError(f"repo: {repo[:_SHOWN_CHARS]} cannot be a folder ({error.strerror})") from error
    if not there:
        raise GitError(f"repo: there is no folder {path}")
    return path.resolve()


def refuse_unusable(location: Place) -> None:
    """Reject a repository that cannot be worked in, for example because of its configuration.

    Raises GitError with a message about the field `repo`.
    """
    configuration = location.configuration
    if location.bare:
        raise GitError(f"repo: {location.root} is a bare repository; give a checkout of it")
    if why := _find_foreign(location, configuration):
        raise GitError(f"repo: {why}")
    if not all(os.access(location.common / name, os.W_OK) for name in ("objects", "refs")):
        raise GitError(f"repo: {location.root} may not be written by the user that Nightshift runs as")


def discover(path: Path, environ: Mapping[str, str]) -> Place:
    """Find the repository that a folder belongs to.

    The repository's folder, the shared folder and the working tree are located here and not by git, because variables
    of the daemon's environment (it may be started from a hook) and the repository's `core.worktree` would redirect git.

    Args:
        path: A folder in a checkout.
        environ: The daemon's environment.

    Raises:
        GitError: The folder is in no repository, or the repository's folders cannot be read.
    """
    try:
        root = next((folder for folder in (path, *path.parents) if _is_root(folder)), path)
        folder = _folder_of(root)
        pointer = folder / "commondir"
        common = (folder / pointer.read_text().strip()).resolve() if pointer.exists() else folder
    except (ValueError, OSError) as error:
        raise GitError(f"repo: the repository of {path} cannot be read: {error}") from error
    return Place(root=root, folder=folder, common=common, bare=not (root / ".git").exists(), variables=environ)


def _folder_of(root: Path) -> Path:
    """Return git's folder for a checkout: `.git`, or the folder that a file `.git` names; a bare repository itself."""
    dot = root / ".git"
    if dot.is_file():
        kind, _, where = dot.read_text()[:8192].partition(": ")
        folder = (root / where.rstrip("\r\n")).resolve() if kind == "gitdir" else root
    else:
        folder = (dot if dot.is_dir() else root).resolve()
    if dot.is_file() and not folder.exists():
        raise RepositoryUnready(
            f"repo: {root} is a worktree of a repository that is not at {folder} any more; where that was moved, type "
            f"`git worktree repair {root}` in its new place"
        )
    if not (folder / "HEAD").is_file() or not ((folder / "objects").is_dir() or (folder / "commondir").is_file()):
        raise RepositoryUnready(f"repo: {root} is not in a git repository; run `git init` there and commit once")
    return folder


def _is_root(folder: Path) -> bool:
    """Return True if a folder is the root of a checkout, or a bare repository."""
    return (folder / ".git").exists() or all((folder / name).exists() for name in ("HEAD", "objects", "refs"))


def base_of(repository: Repository, base: str | None) -> tuple[str, str | None]:
    """Return the commit that a task starts from, and the branch whose tip the commit is (None if there is none)."""
    head = MAIN if repository.is_own else repository.git.ask("symbolic-ref", "--quiet", "HEAD").text
    name = base.removeprefix("refs/heads/") if base else head.removeprefix("refs/heads/")
    if "\n" in name:
        raise GitError("base: must be one line")
    branch, other, clash = repository.resolve(f"refs/heads/{name or '@'}", base or "HEAD", CLASHING_BRANCH)
    if clash:
        raise RepositoryUnready(clash_of(repository.root))
    if branch:
        return branch, f"refs/heads/{name}"
    if other:
        return other, None
    if base:
        raise explain_no_base(repository.git, repository.root, base)
    raise explain_no_commit(repository.git, repository.root)


def explain_no_commit(git: Git, root: Path) -> GitError:
    """Return why a checkout's HEAD cannot be read.

    Either there is no commit yet, or git cannot read the commit; the text then contains git's error.
    """
    error = git.ask("log", "-1", "--no-show-signature", timeout_s=LOOK_S).error
    if "does not have any commits yet" in error:
        return GitError(f"repo: {root} has no commit yet; make a first one, or name a base")
    return RepositoryUnready(
        f"repo: the commit that is checked out in {root} cannot be read; git says: {error or 'nothing'}"
    )


def explain_no_base(git: Git, root: Path, base: str, suggestion: str = "") -> GitError:
    """Return why a named base is no commit: there is no such name, or git cannot read what it names."""
    names = (base, f"refs/heads/{base.removeprefix('refs/heads/')}")
    for name in names:
        asked = git.ask("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}", timeout_s=LOOK_S)
        words = "\n".join(line for line in asked.error.splitlines() if line != "fatal: Needed a single revision")
        if words and "no upstream" not in words and "expected commit type" not in words:
            return RepositoryUnready(f"base: {base!r} cannot be read in {root}; git says: {words}")
    return GitError(f"base: there is no branch, tag or commit {base!r} in {root}{suggestion}")


def clash_of(root: Path) -> str:
    """Return why tasks cannot create branches in a repository with a branch `agent`, and how to fix that."""
    return (
        f"repo: {root} has a branch named agent, beside which git cannot make the branch agent/… of a task; rename it "
        "with `git branch -m agent NAME`"
    )


def refuse_submodule_folder(given: Path, root: Path, tree: GitTree) -> None:
    """Reject a submodule that is not checked out.

    Its empty folder belongs to the outer repository, in which the task is never meant to work.
    """
    for folder in (given, *given.parents):
        if folder.is_relative_to(root) and folder != root:
            record = tree.records.get(folder.relative_to(root).as_posix())
            if record and record.mode == "160000":
                raise GitError(
                    f"repo: {folder} is a submodule that is not checked out; run `git submodule update --init`"
                )


def _find_foreign(location: Place, configuration: Configuration) -> str | None:
    """Return why a repository of another user may not be worked in; None if it may."""
    owner, user = location.common.stat().st_uid, os.geteuid()
    if owner == user or configuration.is_safe(location.root):
        return None
    return (
        f"{location.root} belongs to another user (uid {owner}; Nightshift runs as uid {user}); run Nightshift as its "
        f"owner, or say that it is safe with `git config --global --add safe.directory {location.root}`"
    )
