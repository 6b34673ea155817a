"""Reads the history of a repository with the files that each commit changed, from a single git command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from nightshift.core.tasks.revisions import ChangedFile, ChangingCommit
from nightshift.git.repository import Repository

_WALK_S = 600.0
_FORM = "--format=%x1e%H%x1f%P%x1f%ct%x1f%B%x1f"
# This byte sequence marks the beginning of a commit. A commit message could contain the sequence, but people do not
# write it.
_BEGIN = re.compile(rb"\x1e(?=[0-9a-f]{40,64}\x1f)")


def walk(repository: Repository, start: str, most: int) -> Iterator[ChangingCommit]:
    """Yield the newest commits that can be reached from `start` (full id), newest first; a merge has no files.

    The command runs in the repository itself, because our view of the repository treats all files as binary and would
    count no lines.
    """
    form = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-notes", "--numstat", "-z", _FORM)
    out = repository.git("log", *form, f"--max-count={most}", start, "--", timeout_s=_WALK_S).out
    return map(_commit, _BEGIN.split(out)[1:])


def _commit(raw: bytes) -> ChangingCommit:
    id_, parents, at, rest = raw.split(b"\x1f", 3)
    message, _, files = rest.rpartition(b"\x1f")  # The message may contain the separator, but a path cannot
    return ChangingCommit(
        id=id_.decode("ascii"),
        parents=tuple(parents.decode("ascii").split()),
        at=datetime.fromtimestamp(int(at), UTC),
        message=message.decode("utf-8", "replace"),
        files=tuple(map(_file, filter(None, files.strip(b"\0\n").split(b"\0")))),
    )


def _file(raw: bytes) -> ChangedFile:
    added, removed, path = raw.lstrip(b"\n").split(b"\t", 2)
    counted = (None, None) if added == b"-" else (int(added), int(removed))
    return ChangedFile(path=path.decode("utf-8", "surrogateescape"), added=counted[0], removed=counted[1])
