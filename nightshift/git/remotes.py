"""Reaches the remote of a repository with the owner's credentials.

Commands run in our view of the repository, because a repository's own settings may name programs to run (credential
helpers, ssh commands, or the other end of a connection).

A fetched branch gets a reference of ours (`refs/nightshift/base/…`), from which a task may start. The owner's
references do not move: local branches and remote-tracking branches belong to the owner, and `git push
--force-with-lease` relies on the remote-tracking branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nightshift.core.errors import GitError
from nightshift.git import protocol
from nightshift.git.commands import Answer, Git
from nightshift.git.repository import Repository

FETCHED = "refs/nightshift/base/"
FETCH_OPTIONS = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
_SETTINGS = (*protocol.PUSH_SETTINGS, "-c", "core.fsync=all", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
UPLOAD_PACK = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false upload-pack"
"""Command that git runs for a remote that is a folder on this machine. Its hooks are switched off, because they would
run with the daemon's rights.
"""
FETCH_S = 60.0
"""Timeout of a command that reads from the remote, in seconds."""


@dataclass(frozen=True, slots=True)
class Remote:
    """The remote of a repository.

    Attributes:
        repository: The repository.
        url: The remote's address; empty if there is no remote.
        env: The environment from `protocol.push_environment`.
    """

    repository: Repository
    url: str
    env: Mapping[str, str]

    @property
    def shown(self) -> str:
        """The remote's address without a password."""
        return protocol.without_password(self.url)

    def push(self, *refs: str, lease: str = "", timeout_s: float = 30.0) -> Answer:
        """Push references, each given as `id:name`; the answer names the references that were refused.

        With a lease (`name:id`), a branch is moved only if it still points to that commit, but may be moved to any
        commit. Without a lease, a branch is only moved forwards.

        Raises:
            GitError: The remote cannot be pushed to, or timed out.
        """
        if not self.url or (fault := protocol.url_fault(self.url)):
            name = refs[0].partition(":")[2].removeprefix("refs/heads/")
            raise GitError(f"{name} was not pushed: {fault if self.url else 'there is no remote to push to'}")
        objects = {"GIT_OBJECT_DIRECTORY": str(self.repository.common / "objects")}
        git = Git(
            self.repository.view.folder,
            {**self.env, **objects},
            protocol.PUSH_SETTINGS,
            cwd=self.repository.root,
            processes=self.repository.git.processes,
        )
        leased = (f"--force-with-lease={lease}",) if lease else ()
        other_end = (f"--receive-pack={protocol.RECEIVE_PACK}",) if protocol.is_local(self.url) else ()
        return git.ask("push", *protocol.PUSH_OPTIONS, *leased, *other_end, "--", self.url, *refs, timeout_s=timeout_s)

    def fetch_branch(self, branch: str) -> str:
        """Fetch a branch (short name) and return the name of the local reference.

        The result is empty if there is no remote, or no such branch.

        Raises:
            GitError: The remote could not be reached, or timed out.
        """
        repository, here, name = self.repository, f"{FETCHED}{branch}", f"refs/heads/{branch}"
        there = self._read("ls-remote", (), name).text.split() if self.url else []
        if not there:
            return ""
        before, local = repository.resolve(here, name)
        if before != there[0]:
            tips = tuple(f"--negotiation-tip={each}" for each in (before, local) if each)
            arrived = f"refs/fetched/{branch}"
            self._read("fetch", (*FETCH_OPTIONS, *tips), f"+{name}:{arrived}")
            newest = repository.view("rev-parse", "--verify", "--quiet", arrived).text
            if refused := repository.move((here, newest, before)):
                raise GitError(f"{branch} was fetched, but {here} could not be moved: {refused}")
        return here

    def fetch_object(self, name: str) -> None:
        """Fetch the object that a reference of ours at the remote points to, without moving a local reference.

        Raises:
            GitError: The remote could not be reached, or has no such reference.
        """
        self._read("fetch", FETCH_OPTIONS, name)

    def _read(self, command: str, options: tuple[str, ...], ref: str) -> Answer:
        if fault := protocol.url_fault(self.url):
            raise GitError(f"{ref.removeprefix('refs/heads/')} was not fetched: {fault}")
        places = {
            "GIT_OBJECT_DIRECTORY": str(self.repository.common / "objects"),
            "GIT_SHALLOW_FILE": str(self.repository.common / "shallow"),
        }
        git = Git(
            self.repository.view.folder,
            {**self.env, **places},
            _SETTINGS,
            cwd=self.repository.root,
            store_lock=self.repository.storing,
            processes=self.repository.git.processes,
        )
        other_end = (f"--upload-pack={UPLOAD_PACK}",) if protocol.is_local(self.url) else ()
        return git(command, *options, *other_end, "--", self.url, ref, timeout_s=FETCH_S)
