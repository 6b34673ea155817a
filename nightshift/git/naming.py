"""Finds the commits that a name matches: a branch, tag or id, or else any prefix of an id or of a branch's name."""

from __future__ import annotations

import re

from nightshift.git.repository import Repository

_ID = re.compile(r"[0-9a-fA-F]{4,64}")
_HEADS = "refs/heads/"


def commits_beginning(repository: Repository, start: str) -> dict[str, str]:
    """Find the commits whose ids begin with `start`; return their full ids, by a description of each.

    The result is empty if `start` cannot begin an id.
    """
    if not _ID.fullmatch(start):
        return {}
    ids = repository.git.ask("rev-parse", f"--disambiguate={start}").text.split()
    commits = [each for each in repository.resolve(*ids) if each in ids] if ids else []
    return {f"commit {each[:12]}": each for each in commits if each}


def fitting(repository: Repository, name: str) -> dict[str, str]:
    """Find the commits that a name matches; return their full ids, by a description of each.

    If git resolves the name, that commit is the only match.
    """
    if "\n" in name or not name:
        return {}
    if (exact := repository.resolve(name)[0]) is not None:
        return {name: exact}
    lines = repository.git.ask("for-each-ref", "--format=%(objectname) %(refname)", _HEADS).text.splitlines()
    branches = {ref.removeprefix(_HEADS): id_ for id_, _, ref in (line.partition(" ") for line in lines)}
    begun = {
        f"branch {branch}": id_ for branch, id_ in branches.items() if branch.startswith((name, f"agent/{name}"))
    }  # fmt: skip
    if own := branches.get(f"agent/{name}"):
        begun = {f"branch agent/{name}": own}
    return {**commits_beginning(repository, name), **begun}
