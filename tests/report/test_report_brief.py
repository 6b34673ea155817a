from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from nightshift.core.tasks.task import Spent
from nightshift.report import brief
from nightshift.report.brief import Figures, Span, bounds, parts_of
from tests.support.history import FIRST, History

BERLIN = ZoneInfo("Europe/Berlin")


def line(**fields: object) -> str:
    shown = {"landed": 0, "failed": 0, "common": 0, "spent": Spent(), **fields}
    return ", ".join(part.text for part in parts_of(Figures(**shown)))  # type: ignore[arg-type]  # of a test's own


def test_the_line_says_what_landed_failed_cost_and_waits() -> None:
    spent = Spent(model_calls=3, cost_usd=0.31)
    text = line(landed=33, failed=9, common=6, spent=spent, needs=3, unread=12)
    assert text == "33 landed, 9 failed (6 with the same cause), $0.31, 3 need you, 12 to read"


@pytest.mark.parametrize(
    ("spent", "text"),
    [
        (Spent(model_calls=1, cost_usd=0.0042), "$0.0042"),
        (Spent(model_calls=2, cost_usd=0.5, unpriced=1), "$0.50 + ?"),
        (Spent(model_calls=2, unpriced=2), "$?"),
        (Spent(model_calls=2), "$0"),
    ],
)
def test_a_cost_that_is_not_known_is_never_called_nothing(spent: Spent, text: str) -> None:
    assert line(spent=spent) == f"0 landed, {text}"


def test_the_figures_are_those_of_the_span_alone(history: History) -> None:
    history.week(12, skill=0.5)
    middle = history.clock.now
    history.week(12, skill=0.5)
    db, end = history.store.db, history.clock.now
    first, second, both = (brief.read(db, *span) for span in ((FIRST, middle), (middle, end), (FIRST, end)))
    for name in ("landed", "failed"):
        counts = [getattr(each.figures, name) for each in (first, second, both)]
        assert counts[0] + counts[1] == counts[2] > 0, name
    assert first.figures.spent.model_calls + second.figures.spent.model_calls == both.figures.spent.model_calls
    assert sum(len(cause.tasks) for cause in both.causes) == both.figures.failed
    assert both.figures.common == len(both.causes[0].tasks)


def test_a_commit_that_was_taken_back_has_not_landed(history: History) -> None:
    history.week(12, skill=1.0)
    span = (FIRST, history.clock.now)
    before = brief.read(history.store.db, *span).figures.landed
    conn = history.store.db.reader()
    (entry,) = conn.execute("SELECT id FROM git_commits WHERE integrated AND reverted_by IS NULL LIMIT 1").fetchone()
    history.store.db.write(
        lambda conn: conn.execute("UPDATE git_commits SET reverted_by = 'f00' WHERE id = ?", (entry,)).rowcount
    ).result()
    assert brief.read(history.store.db, *span).figures.landed == before - 1


def test_a_task_that_is_tried_again_has_not_failed(history: History) -> None:
    history.week(12, skill=0.2)
    span = (FIRST, history.clock.now)
    failed = brief.read(history.store.db, *span).causes[0].tasks
    history.store.queue.retry(failed[0].id).result()
    after = brief.read(history.store.db, *span)
    assert failed[0].id not in [task.id for cause in after.causes for task in cause.tasks]


def test_a_night_is_that_of_the_wall_clock_also_where_the_clock_is_put_back(history: History) -> None:
    db = history.store.db
    noon = datetime(2026, 10, 25, 11, tzinfo=UTC)
    since, until = bounds(db, Span.NIGHT, noon, BERLIN)
    assert (since.astimezone(UTC).hour, until.astimezone(UTC).hour) == (18, 7)
    assert until - since == timedelta(hours=13)
    early = datetime(2026, 10, 25, 3, tzinfo=UTC)
    assert bounds(db, Span.NIGHT, early, BERLIN)[1] == early
    assert bounds(db, Span.TODAY, noon, BERLIN)[0].astimezone(UTC) == datetime(2026, 10, 24, 22, tzinfo=UTC)
