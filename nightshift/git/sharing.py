"""Works on a branch that several nodes move: follows the remote, and moves its branch by compare-and-swap.

The remote's branch is authoritative. A node judges a commit on top of the branch's tip, pushes with the tip that it saw
(`--force-with-lease=ref:old`), and starts again if another node was first. The daemon's own workspace follows the
remote's branch. In an owner's repository, a reference of ours follows the remote's branch (`git.remotes.FETCHED`), and
the owner's branches are unchanged.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from nightshift.core.errors import GitError, RemoteAway
from nightshift.git import history, protocol
from nightshift.git.commands import Git
from nightshift.git.discovery import MAIN
from nightshift.git.processes import Processes
from nightshift.git.remotes import FETCH_OPTIONS, FETCHED, UPLOAD_PACK, Remote
from nightshift.git.repository import Repository

CLONE_S = 600.0
"""Timeout of each command of a clone, in seconds."""
_RETRIES = 5
_HEADS = "refs/heads/"
_INPUTS = "refs/nightshift/inputs/"
_BEHIND = ("stale info", "fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref")
"""Parts of git's messages for a branch that does not point to the expected commit."""


def short(target: str) -> str:
    """Return the short name of the remote's branch that a target follows."""
    return target.removeprefix(FETCHED).removeprefix(_HEADS)


def follow(remote: Remote, branch: str) -> str | None:
    """Fetch a branch and move the local reference that follows it.

    Returns the branch's tip, or None if the remote has no such branch. The workspace's own branch main is moved only if
    nothing is lost: if the remote is ahead of main, or if main contains nothing yet. If main is ahead of the remote,
    main is pushed.

    Raises:
        RemoteAway: The remote could not be reached.
        GitError: The histories have diverged.
    """
    repository = remote.repository
    if not repository.is_own:
        return fetch_tip(remote, branch)
    for _ in range(_RETRIES):
        there, local = fetch_tip(remote, branch), repository.resolve(MAIN)[0]
        if local and there is None and publish(remote, local, branch, None):
            return local
        if there and _join(remote, local, there):
            return repository.resolve(MAIN)[0]
        if local and there and history.contains(repository, local, there):
            publish(remote, local, branch, there)
    raise GitError(f"the workspace {repository.root} could not follow its remote, which keeps moving")


def fetch_tip(remote: Remote, branch: str) -> str | None:
    """Fetch a branch; return its tip at the remote, or None if the branch does not exist there.

    Raises:
        RemoteAway: The remote could not be reached.
    """
    try:
        here = remote.fetch_branch(branch)
    except GitError as error:
        raise RemoteAway(str(error)) from error
    return remote.repository.resolve(here)[0] if here else None


def _join(remote: Remote, local: str | None, there: str) -> bool:
    """Move the workspace's main to the remote's tip, if nothing is lost; return False if main is ahead, or has moved.

    Raises:
        GitError: The histories have diverged.
    """
    repository = remote.repository
    if local == there:
        return True
    if local is None or history.contains(repository, there, local) or _is_blank(repository, local):
        return not repository.move((MAIN, there, local))
    if history.contains(repository, local, there):
        return False
    raise GitError(
        f"the workspace {repository.root} and {remote.shown} have different histories; join them by hand, or move the "
        "workspace away and let it be created again"
    )


def publish(remote: Remote, commit: str, branch: str, expected: str | None) -> bool:
    """Move a branch of the remote from `expected` to a commit; return False if the branch has moved meanwhile.

    If `expected` is None, the branch must not exist yet. If the commit is an empty string, the branch is removed.

    Raises:
        RemoteAway: The push failed for another reason.
        GitError: There is no remote, or its address names a program.
    """
    name = f"{_HEADS}{branch}"
    answer = remote.push(f"{commit}:{name}", lease=f"{name}:{expected or ''}")
    if not answer.code:
        return True
    output = f"{answer.text} {answer.error}"
    if any(word in output for word in _BEHIND):
        return False
    raise RemoteAway(f"{branch} was not pushed to {remote.shown}: {answer.error or answer.text}")


def publish_text(remote: Remote, text: str) -> str:
    """Store a text at the remote, under a reference of ours; return the id of the text's blob.

    Raises:
        GitError: The text could not be pushed.
    """
    blob = remote.repository.git("hash-object", "-w", "--stdin", stdin=text.encode()).text.strip()
    answer = remote.push(f"{blob}:{_INPUTS}{blob}")
    if answer.code:
        raise RemoteAway(f"a text was not pushed to {remote.shown}: {answer.error or answer.text}")
    return blob


def read_published(remote: Remote, blob: str) -> str:
    """Read a text that any node has stored at the remote.

    Raises:
        GitError: The text could not be fetched.
    """
    remote.fetch_object(f"{_INPUTS}{blob}")
    return remote.repository.git("cat-file", "blob", blob).text


def clone(url: str, folder: Path, env: Mapping[str, str], processes: Processes) -> None:
    """Create a repository that follows a remote, on the remote's own branch and without any checked-out files.

    Raises:
        GitError: The remote could not be fetched, or has no commit yet.
    """
    if fault := protocol.url_fault(url):
        raise GitError(f"{protocol.without_password(url)} was not fetched: {fault}")
    making = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    git = Git(making / ".git", env, protocol.PUSH_SETTINGS, cwd=making, processes=processes)
    other_end = (f"--upload-pack={UPLOAD_PACK}",) if protocol.is_local(url) else ()
    heads = git("ls-remote", "--symref", *other_end, "--", url, "HEAD", timeout_s=CLONE_S).text
    match = re.search(r"^ref: refs/heads/(\S+)\tHEAD$", heads, re.MULTILINE)
    if not match:
        raise GitError(f"{protocol.without_password(url)} has no branch yet; push a first commit")
    git("init", "--quiet", "--template=", f"--initial-branch={match[1]}")
    git("config", "remote.origin.url", url)
    name = f"{_HEADS}{match[1]}"
    git("fetch", "--update-head-ok", *FETCH_OPTIONS, *other_end, "--", url, f"{name}:{name}", timeout_s=CLONE_S)
    making.rename(folder)


def _is_blank(repository: Repository, commit: str) -> bool:
    """Return True if a commit is the first commit of an unused workspace: it has no parents and no files."""
    raw = repository.read_commit(commit)
    return not raw.parents and not repository.tree(commit).entries()
