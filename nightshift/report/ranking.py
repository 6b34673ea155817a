"""Computes the risk points of any commits at any time. The weekly report shows the same points."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from nightshift.core.events import Kind
from nightshift.report.commit_figures import Surroundings, rank_commits
from nightshift.report.risk import Ranked
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.database import Database
from nightshift.storage.db.report_queries import ReportQueries

LOOKED_BACK = timedelta(days=30)
"""Age limit of the failures, questions and regressions that a rank considers. Older ones are many, and earlier reports
covered them.
"""


AT_ONCE = 2000
"""Number of commits in one batch. Each batch reads the failures of the last `LOOKED_BACK` days once."""


def count_points(database: Database, ledger: CommitLedger, now: datetime) -> int:
    """Compute and store the points of at most `AT_ONCE` commits that have none yet; return the number of these commits.

    Raises:
        StoreError: the database cannot be read or written.
    """
    ids = ledger.list_uncounted(AT_ONCE)
    if ids:
        ledger.count({each: ranked.points for each, ranked in ranks(database, ids, now).items()}).result()
    return len(ids)


def find_regressions(database: Database, now: datetime) -> set[str]:
    """Return the full ids of commits that made a test fail, according to the log of the last `LOOKED_BACK` days.

    Raises:
        StoreError: the database cannot be read.
    """
    log = ReportQueries(database).events(now - LOOKED_BACK, now, {Kind.REGRESSION})
    return {str(row.data.get("commit")) for row in log}


def ranks(database: Database, ids: Iterable[int], now: datetime) -> dict[int, Ranked]:
    """Return the rank of each of these commits by its ledger id, in the order in which they should be read.

    Raises:
        StoreError: the database cannot be read.
    """
    queries = ReportQueries(database)
    commits = queries.commits_by_id(ids, now)
    if not commits:
        return {}
    since = max(min(commit.at for commit in commits), now - LOOKED_BACK)
    uses_packages = any(commit.signs and commit.signs.packages for commit in commits)
    around = Surroundings(
        failures=queries.failures(since, now),
        asks=queries.asks(since, now),
        first_uses=queries.first_uses(now) if uses_packages else {},
        log=queries.events(since, now, {Kind.REGRESSION}),
    )
    return {ranked.commit.id: ranked for ranked in rank_commits(commits, around)}
