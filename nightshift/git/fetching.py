"""Fetches a branch with the owner's credentials, for tasks that start from the remote's state.

The fetched commit gets a reference of ours (`refs/nightshift/base/…`), from which a task may start. The owner's
references do not move: local branches and remote-tracking branches belong to the owner, and `git push
--force-with-lease` relies on the remote-tracking branches.
"""

from __future__ import annotations

from collections.abc import Mapping

from nightshift.core.errors import GitError
from nightshift.git import protocol
from nightshift.git.commands import Git
from nightshift.git.repository import Repository

FETCHED = "refs/nightshift/base/"
FETCH_OPTIONS = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
_SETTINGS = (*protocol.PUSH_SETTINGS, "-c", "core.fsync=all", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
UPLOAD_PACK = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false upload-pack"
"""Command that git runs for a remote that is a folder on this machine. Its hooks are switched off, because they would
run with the daemon's rights.
"""


def fetch(repository: Repository, branch: str, env: Mapping[str, str], timeout_s: float) -> str:
    """Fetch a branch (short name) from the push remote and return the name of the local reference.

    The fetch runs in our view of the repository, as a push does. The result is empty if there is no remote, or no such
    branch.

    Raises:
        GitError: The remote could not be reached, or timed out.
    """
    url, here = repository.configuration().remote_url, f"{FETCHED}{branch}"
    if not url:
        return ""
    if fault := protocol.url_fault(url):
        raise GitError(f"{branch} was not fetched: {fault}")
    git = _git(repository, env)
    other_end = (f"--upload-pack={UPLOAD_PACK}",) if protocol.is_local(url) else ()
    there = git("ls-remote", *other_end, "--", url, f"refs/heads/{branch}", timeout_s=timeout_s).text.split()
    if not there:
        return ""
    before, local = repository.resolve(here, f"refs/heads/{branch}")
    if before != there[0]:
        tips = [f"--negotiation-tip={each}" for each in (before, local) if each]
        arrived = f"refs/fetched/{branch}"
        wanted = f"+refs/heads/{branch}:{arrived}"
        git("fetch", *FETCH_OPTIONS, *tips, *other_end, "--", url, wanted, timeout_s=timeout_s)
        newest = git("rev-parse", "--verify", "--quiet", arrived).text
        if refused := repository.move((here, newest, before)):
            raise GitError(f"{branch} was fetched, but {here} could not be moved: {refused}")
    return here


def fetch_object(repository: Repository, name: str, env: Mapping[str, str], timeout_s: float) -> None:
    """Fetch the object that a reference of ours at the remote points to, without moving a local reference.

    Raises:
        GitError: The remote could not be reached, or has no such reference.
    """
    url = repository.configuration().remote_url or ""
    if fault := protocol.url_fault(url):
        raise GitError(f"{name} was not fetched: {fault}")
    other_end = (f"--upload-pack={UPLOAD_PACK}",) if protocol.is_local(url) else ()
    _git(repository, env)("fetch", *FETCH_OPTIONS, *other_end, "--", url, name, timeout_s=timeout_s)


def _git(repository: Repository, env: Mapping[str, str]) -> Git:
    objects = {
        "GIT_OBJECT_DIRECTORY": str(repository.common / "objects"),
        "GIT_SHALLOW_FILE": str(repository.common / "shallow"),
    }
    return Git(
        repository.view.folder,
        {**env, **objects},
        _SETTINGS,
        cwd=repository.root,
        store_lock=repository.storing,
        processes=repository.git.processes,
    )
