"""Risk ranks of arbitrary commits, computed without a report: each commit has the same points as in a report."""

from __future__ import annotations

from nightshift.report.ranking import ranks
from nightshift.report.weekly import summarise
from tests.support.history import FIRST, History


def test_a_commit_has_the_rank_that_its_report_gives_it(history: History) -> None:
    history.week(14, skill=0.5)
    now = history.clock.now
    reported = summarise(history.store.db, FIRST, now).commits.ranked
    assert len({rank.points for rank in reported}) > 2
    rank_by_id = ranks(history.store.db, [rank.commit.id for rank in reported], now)
    assert list(rank_by_id.values()) == list(reported)
