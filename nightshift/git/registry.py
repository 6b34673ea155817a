"""Opens each repository in use once, and creates the daemon's own repository on first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from subprocess import STDOUT

from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import Author, Workspace
from nightshift.git import protocol
from nightshift.git.commands import Git
from nightshift.git.configuration import read_configuration
from nightshift.git.discovery import MAIN, Place, discover, refuse_unusable, resolve_given
from nightshift.git.objects import RawCommit
from nightshift.git.processes import Processes
from nightshift.git.repository import MOVE, NO_LOG, Repository
from nightshift.git.session import Session
from nightshift.git.shared_lock import SharedLock
from nightshift.git.storing import Store
from nightshift.git.trees import Reader

OPEN = 8
"""Maximum number of the owner's repositories that stay open; a closed repository is opened again when it is needed."""
Where = Workspace | str | None
"""A repository: given by a workspace, by a folder in a checkout, or by None for the daemon's own repository."""


class Repositories:
    """Finds and caches repositories; thread-safe.

    Args:
        workspace: The daemon's own repository; its `.git` also contains the views of all other repositories.
        author: The author of commits, which overrides each repository's configuration.
        signature: Returns the author line of a commit that the given author makes now.
        environ: The daemon's environment.
        home: The id of the home that contains the tasks.
        processes: The git processes.
    """

    def __init__(
        self,
        workspace: Path,
        author: Author,
        signature: Callable[[Author], bytes],
        environ: Mapping[str, str],
        home: str = "",
        processes: Processes | None = None,
    ) -> None:
        self._workspace, self._author, self._signature = workspace.resolve(), author, signature
        self._home, self._processes = home, processes or Processes()
        self._env = protocol.private_environment(environ)
        self._environ = environ
        self._lock = threading.Lock()
        self._opened: dict[Path, Repository] = {}
        self._used = set[Path]()

    def find(self, where: Where) -> Repository:
        """Return the repository, and open it if it is not open yet.

        Raises:
            GitError: The repository cannot be used; the message begins with the field `repo`.
        """
        with self._lock:
            own = self._open_own()
            if where is None or (isinstance(where, Workspace) and where.is_own):
                return own
            if isinstance(where, Workspace):
                opened = self._opened.get(where.git_dir)
                repository = opened if opened and opened.common.exists() else self._open(where.repo)
            else:
                repository = self._open(resolve_given(where))
            self._close_least_used(repository)
            return repository

    def _close_least_used(self, repository: Repository) -> None:
        """Close the least recently used repositories.

        Each open repository uses processes, file descriptors and memory for trees. Closed repositories stay in the
        cache, because a task may still use one of them. If a task does, the repository starts its processes again, and
        a later call of this method closes it again.
        """
        self._opened[repository.git.folder] = self._opened.pop(repository.git.folder, repository)
        self._used.add(repository.git.folder)
        others = [other for other in self._opened.values() if not other.is_own]
        for other in others[:-OPEN]:
            other.close()

    def close_idle(self) -> None:
        """End the processes of the owner's repositories that were not used since the last call.

        A process that stays open keeps the disk busy, so that the owner could not unmount it.
        """
        with self._lock:
            for folder, repository in self._opened.items():
                if folder not in self._used and not repository.is_own:
                    repository.close()
            self._used.clear()

    def version(self) -> str:
        """Return the line that `git --version` prints.

        Raises:
            GitError: There is no git, or it is too old.
        """
        answer = Git(Path("/"), self._env, processes=self._processes)("--version").text
        if protocol.version_of(answer) < protocol.OLDEST:
            need = ".".join(map(str, protocol.OLDEST))
            raise GitError(f"{answer} is too old: version {need} or later is needed to merge without a checkout")
        return answer

    def renew(self, author: Author) -> None:
        """Use another author in commits from now on, including commits in repositories that are already open."""
        with self._lock:
            self._author = author
            self._opened = {folder: replace(repository, named=author) for folder, repository in self._opened.items()}

    def close(self) -> None:
        """End all git processes; current and later callers get GitStopped."""
        self._processes.stop()
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        for repository in self._opened.values():
            repository.close()
        self._opened.clear()

    def _open_own(self) -> Repository:
        """Return the daemon's own repository, and create it if it is missing."""
        folder = self._workspace / ".git"
        if not (folder / "HEAD").exists():
            self._forget()
            self.version()
            self._workspace.mkdir(parents=True, exist_ok=True)
            git = Git(folder, self._env, cwd=self._workspace, processes=self._processes)
            git("init", "--quiet", "--template=", "--initial-branch=main")
        return self._opened.get(folder) or self._begin(self._open(self._workspace))

    def _begin(self, own: Repository) -> Repository:
        """Give the branch main its first commit; if several processes try, one succeeds."""
        if own.resolve(MAIN) == [None]:
            by = self._signature(own.author)
            first = RawCommit(tree="", parents=(), author=by, committer=by, message=b"Begin\n")
            if (refused := own.move((MAIN, own.write_commit(first), None))) and own.resolve(MAIN) == [None]:
                raise GitError(f"the workspace {self._workspace} could not be created: {refused}")
        return own

    def _open(self, path: Path) -> Repository:
        location = discover(path, self._environ)
        earlier, stamp = self._opened.get(location.folder), location.config_stamp
        if earlier and earlier.config_stamp == stamp:
            return earlier
        if earlier and earlier.id_format == location.id_format:
            earlier = self._opened[location.folder] = replace(earlier, config_stamp=stamp)
            return earlier
        if earlier:  # The repository was replaced by a clone with another hash algorithm
            self._opened.pop(location.folder).close()
        refuse_unusable(location)
        objects = {
            "GIT_OBJECT_DIRECTORY": str(location.common / "objects"),
            "GIT_SHALLOW_FILE": str(location.common / "shallow"),
        }
        storing = SharedLock()
        view = Git(self._make_view(location), {**self._env, **objects}, store_lock=storing, processes=self._processes)
        git = Git(location.folder, self._env, processes=self._processes, common=location.common)
        repository = Repository(
            root=location.root,
            common=location.common,
            is_own=location.folder == self._workspace / ".git",
            home=self._home,
            id_format=location.id_format,
            named=self._author,
            config_stamp=stamp,
            configuration=partial(read_configuration, location.root, location.folder, location.common, self._environ),
            git=git,
            view=view,
            storing=storing,
            store=Store(location.common / "objects", storing),
            reader=Reader(
                view.over(view.folder, GIT_ALTERNATE_OBJECT_DIRECTORIES=_list_submodule_stores(location.common))
            ),
            names=Session(git, "cat-file", "--batch-check=%(objectname) %(objecttype)"),
            logged=Session(git, *MOVE, stderr=STDOUT),
            unlogged=Session(git, *NO_LOG, *MOVE, stderr=STDOUT),
        )
        self._opened[location.folder] = repository
        return repository

    def _make_view(self, location: Place) -> Path:
        """Return the folder of a repository's view, and create the folder if it is missing.

        A view has no configuration. Creating the folder twice is harmless.
        """
        name = sha256(os.fsencode(location.common)).hexdigest()[:16]
        # The name depends on the hash algorithm, because a repository may be replaced by one with another hash
        # algorithm.
        name += "" if location.id_format == "sha1" else f"-{location.id_format}"
        view = self._workspace / ".git" / "nightshift" / "views" / name
        if not (view / "HEAD").exists():
            for folder in ("objects", "refs", "info"):
                (view / folder).mkdir(parents=True, exist_ok=True)
            for file, text in protocol.view_files(location.id_format).items():
                (view / file).write_text(text)
        return view


def _list_submodule_stores(common: Path) -> str:
    """Return the object stores of the submodules that the owner has checked out, as a list in git's own syntax."""
    stores = (path for path in (common / "modules").rglob("objects") if (path.parent / "HEAD").is_file())
    return os.pathsep.join(map(str, sorted(stores)))
