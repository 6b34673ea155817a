"""The repositories that tasks used: the numbers of the agent's commits in each, and the owner's settings for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from nightshift.core.clock import to_text
from nightshift.core.tasks.revisions import OurCommits
from nightshift.storage.db.codec import encode, read_row
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import workspace_of


def list_used(conn: Connection) -> list[str]:
    """List the owner's repositories as tasks name them, the repository of the newest task first."""
    query = "SELECT repo FROM tasks WHERE repo <> '' GROUP BY repo ORDER BY MAX(id) DESC"
    return [row["repo"] for row in conn.execute(query)]


def ours(conn: Connection) -> dict[str, OurCommits]:
    """Count the ledger's commits in each repository, without drafts, by path of the checkout. Reads only indexes."""
    query = "SELECT repo, COUNT(*) FROM git_commits INDEXED BY git_commits_drafts WHERE label = 'draft' GROUP BY repo"
    drafts: dict[str, int] = dict(conn.execute(query).fetchall())
    rows = conn.execute(
        "SELECT repo, COUNT(*) AS commits, SUM(integrated AND pushed_at IS NULL AND reverted_by IS NULL) AS unpushed, "
        "MAX(at) AS last_at, MAX(pushed_at) AS pushed_at FROM git_commits INDEXED BY git_commits_repo GROUP BY repo"
    )
    workspace = workspace_of(conn)
    return {
        (row["repo"] or workspace): read_row(
            OurCommits,
            row,
            repo=row["repo"] or workspace,
            commits=row["commits"] - drafts.get(row["repo"], 0),
        )
        for row in rows
    }


def read_settings(conn: Connection, folder: str) -> tuple[str, dict[str, Any]]:
    """Read the settings that apply to a folder as plain values, and the path of the repository that they belong to.

    If repositories are nested, the innermost one with settings counts. Without any settings, the path is that of the
    folder itself.
    """
    folders = [folder, *map(str, PurePosixPath(folder).parents)]
    row = conn.execute(
        "SELECT repo, settings FROM repository_settings WHERE repo IN (SELECT value FROM json_each(?)) "
        "ORDER BY length(repo) DESC LIMIT 1",
        (encode(folders),),
    ).fetchone()
    return (row["repo"], json.loads(row["settings"])) if row else (folder, {})


def with_settings(conn: Connection) -> list[str]:
    """List the repositories that have settings."""
    return [row["repo"] for row in conn.execute("SELECT repo FROM repository_settings ORDER BY repo")]


def keep_settings(conn: Connection, repo: str, settings: Mapping[str, Any], at: datetime) -> None:
    """Store the settings of a repository under the root of its checkout. Empty settings delete the stored ones."""
    if not settings:
        conn.execute("DELETE FROM repository_settings WHERE repo = ?", (repo,))
        return
    conn.execute(
        "INSERT OR REPLACE INTO repository_settings (repo, settings, at) VALUES (?, ?, ?)",
        (repo, encode(dict(settings)), to_text(at)),
    )
