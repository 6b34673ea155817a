"""Pushes a branch with the owner's credentials; of the repository's configuration it takes but an address."""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import GitError
from core.revisions import PushResult
from gitrepo import protocol
from gitrepo.commands import Git
from gitrepo.discovery import remote_url
from gitrepo.repository import Repository


def push(found: Repository, branch: str, env: Mapping[str, str], timeout_s: float) -> PushResult:
    """Push a branch (short name) to where the repository's configuration says; never by force.

    The push starts from the view: a repository's own settings may name programs to run (credential helpers, ssh
    commands, the other end of a connection). Remote-tracking branches stay as they are.

    Args:
        found: the repository.
        branch: the branch's short name.
        env: made by `protocol.push_environment`.
        timeout_s: after this the push is ended.

    Raises:
        GitError: it was refused, failed, or took too long.
    """
    url = remote_url(found.common)
    if not url:
        return PushResult(pushed=False, tried=False, detail="there is no remote to push to")
    name = f"refs/heads/{branch}"
    id_ = found.resolve(name)[0]
    if fault := protocol.url_fault(url) or (None if id_ else f"there is no branch {branch}"):
        raise GitError(f"{branch} was not pushed: {fault}")
    git = Git(
        found.view.folder,
        {**env, "GIT_OBJECT_DIRECTORY": str(found.common / "objects")},
        protocol.PUSH_SETTINGS,
        cwd=found.root,
    )
    other_end = (f"--receive-pack={protocol.RECEIVE_PACK}",) if protocol.is_local(url) else ()
    answer = git.ask("push", *protocol.PUSH_OPTIONS, *other_end, "--", url, f"{id_}:{name}", timeout_s=timeout_s)
    where = protocol.without_password(url)
    if answer.code:
        raise GitError(f"{branch} was not pushed to {where}: {answer.error or answer.text}")
    return PushResult(pushed=True, tried=True, detail=f"{branch} is on {where}")
