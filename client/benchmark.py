"""`nightshift bench`: what models are worth on tasks from a repository's own history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark.mining import Passed, account
from client.errors import Exit
from client.output import Block, Cell, Lines, Table, cell
from client.session import Session


def mine(session: Session, repo: str, *, commits: int) -> int:
    """Find commits that may be items, and say what each filter dropped.

    Raises:
        GitError: it is no repository that can be used.
    """
    from bootstrap.benchmark import mine_commits, opened  # noqa: PLC0415  # the other actions need none of it

    with opened(session.settings, str(Path(repo).expanduser().resolve())) as here:
        new = mine_commits(here, commits)
        lines = [line for line in account(here.store, here.repo) if line.filter.mined]
        left = len(here.store.candidates(here.repo))
        words = f"{here.repo}: {new} commits were new; {left} may be items"
        answer = {"repo": here.repo, "new": new, "candidates": left, "filters": [_plain(line) for line in lines]}
    session.print(answer, [*_account(lines), Lines(lines=[Cell(words)])])
    return Exit.OK


def _plain(line: Passed) -> dict[str, str | int]:
    return {"filter": line.filter.name.lower(), "before": line.before, "dropped": line.dropped, "after": line.after}


def _account(lines: Sequence[Passed]) -> list[Block]:
    rows = [[cell(line.before), cell(line.dropped), cell(line.after), cell(line.filter.value)] for line in lines]
    return [Table(head=("before", "dropped", "after", "filter"), rows=rows)] if lines and lines[0].before else []
