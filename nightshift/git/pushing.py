"""Pushes a branch and its evidence to the repository's configured remote, with the owner's credentials.

The evidence is stored in git notes. The notes are sent in the same push as the branch, because another connection would
take about a second longer. The notes never prevent the push of the branch: if the remote refuses the push of both, the
branch is pushed alone. If the remote already has other notes, they stay unchanged, and the result says so.
"""

from __future__ import annotations

from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import PushResult
from nightshift.git import protocol
from nightshift.git.history import NOTES
from nightshift.git.remotes import Remote


def push(remote: Remote, branch: str, timeout_s: float) -> PushResult:
    """Push a branch (short name) and the notes to the remote, without force.

    Remote-tracking branches are not changed.

    Args:
        remote: The remote of the branch's repository.
        branch: The branch's short name.
        timeout_s: Timeout of each push in seconds.

    Raises:
        GitError: The branch was refused, or the push failed or timed out.
    """
    if not remote.url:
        return PushResult(pushed=False, tried=False, detail="there is no remote to push to")
    name = f"refs/heads/{branch}"
    id_, notes = remote.repository.resolve(name, NOTES)
    if not id_:
        raise GitError(f"{branch} was not pushed: there is no branch {branch}")
    here = f"{id_}:{name}"
    answer = remote.push(here, *([f"{notes}:{NOTES}"] if notes else []), timeout_s=timeout_s)
    refused = protocol.read_refused(answer.text)
    if {name, NOTES} <= refused:
        answer = remote.push(here, timeout_s=timeout_s)
    if answer.code and protocol.read_refused(answer.text) != {NOTES}:
        raise GitError(f"{branch} was not pushed to {remote.shown}: {answer.error or answer.text}")
    left = NOTES in refused and not _push_again(remote, notes, timeout_s)
    refusal = "; its evidence (git notes) was refused there" if left else ""
    return PushResult(pushed=True, tried=True, detail=f"{branch} is on {remote.shown}{refusal}")


def _push_again(remote: Remote, notes: str | None, timeout_s: float) -> bool:
    """Push the current notes if another worker has changed the notes meanwhile.

    The other worker may have pushed its own notes too. Returns True if this push succeeded.
    """
    newer = remote.repository.resolve(NOTES)[0]
    return newer != notes and not remote.push(f"{newer}:{NOTES}", timeout_s=timeout_s).code
