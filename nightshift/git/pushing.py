"""Pushes a branch and its evidence to the repository's configured remote, with the owner's credentials.

The evidence is stored in git notes. The notes are sent in the same push as the branch, because another connection would
take about a second longer. The notes never prevent the push of the branch: if the remote refuses the push of both, the
branch is pushed alone. If the remote already has other notes, they stay unchanged, and the result says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import PushResult
from nightshift.git import protocol
from nightshift.git.commands import Answer, Git
from nightshift.git.history import NOTES
from nightshift.git.repository import Repository


def push(repository: Repository, branch: str, env: Mapping[str, str], timeout_s: float, base: str = "") -> PushResult:
    """Push a branch (short name) and the notes to the repository's configured remote, without force.

    The push runs in our view of the repository, because a repository's own settings may name programs to run
    (credential helpers, ssh commands, or the other end of a connection). Remote-tracking branches are not changed.

    Args:
        repository: The repository of the branch.
        branch: The branch's short name.
        env: The environment from `protocol.push_environment`.
        timeout_s: Timeout of each push in seconds.
        base: The short name of the branch that the work began on; its configuration chooses the remote.

    Raises:
        GitError: The branch was refused, or the push failed or timed out.
    """
    url = repository.configuration().push_url(base)
    if not url:
        return PushResult(pushed=False, tried=False, detail="there is no remote to push to")
    name = f"refs/heads/{branch}"
    id_, notes = repository.resolve(name, NOTES)
    if fault := protocol.url_fault(url) or (None if id_ else f"there is no branch {branch}"):
        raise GitError(f"{branch} was not pushed: {fault}")
    away, here = RemoteEnd(repository, url, env, timeout_s), f"{id_}:{name}"
    answer = away.push(here, *([f"{notes}:{NOTES}"] if notes else []))
    refused = protocol.read_refused(answer.text)
    if {name, NOTES} <= refused:
        answer = away.push(here)
    where = protocol.without_password(url)
    if answer.code and protocol.read_refused(answer.text) != {NOTES}:
        raise GitError(f"{branch} was not pushed to {where}: {answer.error or answer.text}")
    left = NOTES in refused and not _push_again(repository, away, notes)
    refusal = "; its evidence (git notes) was refused there" if left else ""
    return PushResult(pushed=True, tried=True, detail=f"{branch} is on {where}{refusal}")


@dataclass(frozen=True, slots=True)
class RemoteEnd:
    """The remote end of a push."""

    repository: Repository
    url: str
    env: Mapping[str, str]
    timeout_s: float

    def push(self, *refs: str, lease: str = "") -> Answer:
        """Push references, each given as `id:name`; the answer names the references that were refused.

        With a lease (`name:id`), a branch is moved only if it still points to that commit, but may be moved to any
        commit. Without a lease, a branch is only moved forwards.
        """
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
        return git.ask(
            "push", *protocol.PUSH_OPTIONS, *leased, *other_end, "--", self.url, *refs, timeout_s=self.timeout_s
        )  # fmt: skip


def _push_again(repository: Repository, away: RemoteEnd, notes: str | None) -> bool:
    """Push the current notes if another worker has changed the notes meanwhile.

    The other worker may have pushed its own notes too. Returns True if this push succeeded.
    """
    newer = repository.resolve(NOTES)[0]
    return newer != notes and not away.push(f"{newer}:{NOTES}").code
