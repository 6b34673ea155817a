from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.clock import to_text
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.submission import parse_spec
from nightshift.queue.manager import QueueManager
from nightshift.server.context import AppContext
from nightshift.server.lists.series import MAX_BUCKETS, MAX_MODELS, Range, stats
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection
from tests.support import tiers
from tests.support.app_context import Client
from tests.support.ready_database import ready
from tests.support.worked_task import submit, work_on

NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)


class Hand:
    """A database, and a clock that is set by hand."""

    def __init__(self, folder: Path) -> None:
        self.database, self.now = Database(ready(folder / "db.sqlite")), NOW
        self.queue = QueueManager(self.database, EventLog(self.database, self.clock), clock=self.clock)

    def clock(self) -> datetime:
        return self.now

    def end(self, at: datetime, ending: Ending, iterations: int = 1) -> None:
        """A task that ended then."""
        self.now = at
        task_id = self.queue.submit(parse_spec({"description": "x"})).result().task_id
        task = self.queue.claim("w", only=task_id).result()
        assert task is not None
        self.queue.finish(task.id, task.fence, ending, iterations=iterations).result()
        self.now = NOW

    def call(self, *calls: tuple[datetime, str, int, float | None]) -> None:
        """Calls of models: when, which, tokens in (and as many out), cost."""

        def job(conn: Connection) -> None:
            conn.executemany(
                "INSERT INTO model_stats (at, phase, backend, model, tokens_in, tokens_out, cost_usd, latency_s) "
                "VALUES (?, 'CODING', 'openai', ?, ?, ?, ?, 2.0)",
                [(to_text(at), model, tokens, tokens, cost) for at, model, tokens, cost in calls],
            )

        self.database.write(job).result()


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[Hand]:
    made = Hand(tmp_path)
    yield made
    made.database.close()


@pytest.mark.parametrize(("days", "fits"), [(0, Range.DAY), (3, Range.WEEK), (20, Range.MONTH), (90, Range.ALL)])
def test_the_range_that_fits_is_the_shortest_that_holds_all(hand: Hand, days: int, fits: Range) -> None:
    assert stats(hand.database.reader(), Range.FIT, NOW).range is Range.DAY
    hand.end(NOW - timedelta(days=days), Ending.COMMITTED)
    found = stats(hand.database.reader(), Range.FIT, NOW)
    assert (found.range, found.total.done) == (fits, 1)


def test_a_day_has_an_hour_a_bucket_and_its_last_one_holds_now(hand: Hand) -> None:
    hand.end(NOW - timedelta(minutes=10), Ending.COMMITTED, 3)
    hand.end(NOW - timedelta(minutes=40), Ending.NO_CHANGE, 1)
    hand.end(NOW - timedelta(minutes=40), Ending.GAVE_UP, 5)
    hand.end(NOW - timedelta(minutes=40), Ending.USER, 9)
    hand.end(NOW - timedelta(hours=23, minutes=31), Ending.COMMITTED)  # before the first whole hour
    hand.call((NOW - timedelta(minutes=5), "a", 10, 0.5), (NOW - timedelta(minutes=50), "a", 4, None))
    found = stats(hand.database.reader(), Range.DAY, NOW)
    assert (found.bucket_s, len(found.buckets)) == (3600, 24)
    assert found.since == datetime(2026, 11, 21, 13, tzinfo=UTC)
    last, before = found.buckets[-1], found.buckets[-2]
    assert last.start == datetime(2026, 11, 22, 12, tzinfo=UTC)
    assert (last.done, last.failed, last.success_rate, last.iterations) == (1, 0, 1.0, 3.0)
    assert (before.done, before.failed, before.cancelled) == (1, 1, 1)
    assert (before.success_rate, before.iterations) == (0.5, 3.0)
    assert (last.calls, last.tokens_in, last.cost_usd, last.unpriced) == (1, 10, 0.5, 0)
    assert (before.calls, before.tokens_out, before.cost_usd, before.unpriced) == (1, 4, 0.0, 1)
    assert (found.total.done, found.total.failed, found.total.tokens_in) == (2, 1, 14)
    assert found.buckets[0].success_rate is None
    model = found.models[0]
    assert (model.model, model.calls, model.tokens[-2:], model.costs_usd[-1]) == ("a", 2, [8, 20], 0.5)
    assert model.latency_s == 2.0


def test_a_task_that_is_tried_again_leaves_its_failure_where_it_was(hand: Hand) -> None:
    hand.end(NOW - timedelta(hours=5), Ending.GAVE_UP, 4)
    hand.queue.retry(1).result()
    before = stats(hand.database.reader(), Range.DAY, NOW)
    task = hand.queue.claim("w", only=1).result()
    assert task is not None
    hand.queue.finish(1, task.fence, Ending.COMMITTED, iterations=1).result()
    after = stats(hand.database.reader(), Range.DAY, NOW)
    assert [(one.failed, one.iterations) for one in (before.buckets[-6], after.buckets[-6])] == [(1, 4.0)] * 2
    assert (before.total.done, before.total.failed) == (0, 1)
    assert (after.total.done, after.total.failed, after.buckets[-1].done) == (1, 1, 1)


@settings(max_examples=tiers.examples(25), deadline=None)
@given(
    ages_h=st.lists(st.floats(0, 24 * 800), max_size=12),
    wanted=st.sampled_from(Range),
)
def test_every_bucket_holds_what_happened_in_it_and_all_is_in_one(
    tmp_path_factory: pytest.TempPathFactory, ages_h: list[float], wanted: Range
) -> None:
    hand = Hand(tmp_path_factory.mktemp("series"))
    times = [NOW - timedelta(hours=age) for age in ages_h]
    for at in sorted(times):
        hand.end(at, Ending.COMMITTED)
    hand.call(*((at, "m", 7, 0.25) for at in times))
    found = stats(hand.database.reader(), wanted, NOW)
    hand.database.close()
    assert len(found.buckets) <= MAX_BUCKETS
    width = timedelta(seconds=found.bucket_s)
    for number, bucket in enumerate(found.buckets):
        assert bucket.start == found.since + number * width
        here = sum(bucket.start <= at < bucket.start + width for at in times)
        assert (bucket.done, bucket.calls, bucket.tokens_in) == (here, here, here * 7)
    seen = sum(at >= found.since for at in times)
    assert (found.total.done, found.total.calls) == (seen, seen)
    assert wanted not in {Range.ALL, Range.FIT} or seen == len(times)
    assert found.buckets[-1].start <= NOW < found.buckets[-1].start + width


def test_models_beyond_a_dozen_are_summed_up(hand: Hand) -> None:
    hand.call(*((NOW, f"model-{number:02}", 100 - number, 0.0) for number in range(15)))
    models = stats(hand.database.reader(), Range.WEEK, NOW).models
    assert [model.model for model in models] == [f"model-{number:02}" for number in range(MAX_MODELS - 1)] + ["others"]
    assert (models[-1].calls, models[-1].tokens_in) == (4, 89 + 88 + 87 + 86)


def test_an_empty_home_has_empty_buckets(hand: Hand) -> None:
    for wanted in Range:
        found = stats(hand.database.reader(), wanted, NOW)
        assert found.total.done == found.total.calls == 0
        assert found.buckets
        assert found.models == []


def test_the_api_tells_what_was_done(context: AppContext, client: Client) -> None:
    submit(context, "one")
    work_on(context)
    for wanted in Range:
        told = client.get(f"/api/stats?range={wanted}").json
        assert (told["total"]["done"], told["buckets"][-1]["done"], told["total"]["iterations"]) == (1, 1, 2.0)
        assert (told["models"][0]["model"], told["total"]["calls"]) == ("qwen2.5-coder:7b", 4)
    assert client.get("/api/stats?range=1y").status == 400
