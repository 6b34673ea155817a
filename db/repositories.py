"""Which repositories tasks used, and what of the agent's own stands in each."""

from __future__ import annotations

from core.clock import from_text
from core.repositories import OurCommits
from db.sqlite import Connection


def used(conn: Connection) -> list[str]:
    """The repositories of the owner's as tasks name them, that of the newest task first."""
    query = "SELECT repo FROM tasks WHERE repo <> '' GROUP BY repo ORDER BY MAX(id) DESC"
    return [row["repo"] for row in conn.execute(query)]


def ours(conn: Connection) -> dict[str, OurCommits]:
    """What the ledger has of each repository, by the path of its checkout; read from one index."""
    rows = conn.execute(
        "SELECT repo, COUNT(*) AS commits, SUM(integrated AND pushed_at IS NULL AND reverted_by IS NULL) AS unpushed, "
        "MAX(at) AS last_at, MAX(pushed_at) AS pushed_at FROM git_commits INDEXED BY git_commits_repo GROUP BY repo"
    )
    return {
        row["repo"]: OurCommits(
            repo=row["repo"],
            commits=row["commits"],
            unpushed=row["unpushed"],
            last_at=from_text(row["last_at"]),
            pushed_at=row["pushed_at"] and from_text(row["pushed_at"]),
        )
        for row in rows
    }
