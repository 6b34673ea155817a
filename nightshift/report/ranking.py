"""The ranks of commits for whoever reads them one by one: the weekly report's points, for any commits at any time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from nightshift.core.events import Kind
from nightshift.report.commit_figures import Surroundings, rank_commits
from nightshift.report.risk import Ranked
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.database import Database
from nightshift.storage.db.report_queries import ReportLog, ReportQueries

LOOKED_BACK = timedelta(days=30)
"""Failures, asks and regressions of older times change no rank: there are many, and the reports have told of them."""


AT_ONCE = 2000
"""So many commits are counted in one go: each go reads the failures of the last days once."""


def count_points(database: Database, ledger: CommitLedger, now: datetime) -> int:
    """Note the points of commits that have none noted; gives how many that were.

    Raises:
        StoreError: the database cannot be read or written.
    """
    ids = ledger.list_uncounted(AT_ONCE)
    if ids:
        ledger.count({each: ranked.points for each, ranked in ranks(database, ids, now).items()}).result()
    return len(ids)


def find_regressions(database: Database, now: datetime) -> set[str]:
    """The commits (full ids) since which a test fails, by the log of the last days.

    Raises:
        StoreError: the database cannot be read.
    """
    log = ReportLog(database).events(now - LOOKED_BACK, now, {Kind.REGRESSION})
    return {str(row.data.get("commit")) for row in log}


def ranks(database: Database, ids: Iterable[int], now: datetime) -> dict[int, Ranked]:
    """The rank of each of these commits of the ledger, by its id there, those to be read first in front.

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
        log=ReportLog(database).events(since, now, {Kind.REGRESSION}),
    )
    return {ranked.commit.id: ranked for ranked in rank_commits(commits, around)}
