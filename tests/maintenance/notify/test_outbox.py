"""Waiting notices are never lost, and the pauses between tries grow while a receiver does not answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from nightshift.maintenance.notify.notices import Notice, NoticeKind
from nightshift.maintenance.notify.outbox import MAX_TRIES, MAX_WAITING, ChannelQueue, Outbox, Waiting, read_outbox
from nightshift.storage.db.codec import encode

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
notices = st.builds(
    Notice,
    id=st.from_regex(r"event-[0-9]{1,6}", fullmatch=True),
    kind=st.sampled_from(NoticeKind),
    title=st.text(max_size=20),
    lines=st.lists(st.text(max_size=5), max_size=3).map(tuple),
)
queues = st.builds(
    ChannelQueue,
    waiting=st.lists(st.builds(Waiting, notice=notices, tries=st.integers(0, 80)), max_size=6).map(tuple),
    failures=st.integers(0, 99),
    rests_until=st.none() | st.integers(0, 9**9).map(lambda seconds: NOW + timedelta(seconds=seconds % 10**6)),
)


def notice(number: int) -> Notice:
    return Notice(id=f"event-{number}", kind=NoticeKind.FAILED, title=f"title {number}")


@given(st.builds(Outbox, cursor=st.integers(0), queues=st.dictionaries(st.text(max_size=5), queues, max_size=2)))
def test_an_outbox_comes_back_from_its_row_as_it_was(box: Outbox) -> None:
    assert read_outbox(json.loads(encode(box))) == box


def test_an_outbox_of_an_earlier_version_is_read() -> None:
    lane = {"waiting": [{"notice": {"id": "event-1", "kind": "failed", "title": "title 1"}, "tries": 2}], "failures": 2}
    box = read_outbox({"cursor": 7, "lanes": {"notify_url": {**lane, "rests_until": None}}})
    queue = ChannelQueue(waiting=(Waiting(notice=notice(1), tries=2),), failures=2)
    assert box == Outbox(cursor=7, queues={"notify_url": queue})


def test_a_queue_that_fails_rests_longer_and_longer_up_to_an_hour() -> None:
    queue, rests = ChannelQueue().with_notice(notice(1)), []
    for _ in range(9):
        queue = queue.postpone_failed(NOW)
        assert queue.rests_until
        rests.append((queue.rests_until - NOW).total_seconds())
        assert queue.rests(NOW)
    assert rests == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert not queue.rests(NOW + timedelta(seconds=3600))
    assert queue.remove_delivered() == ChannelQueue(), "one that arrives ends the rest"


def test_one_that_is_refused_for_ever_keeps_no_other_back_and_is_given_up_in_the_end() -> None:
    queue = ChannelQueue().with_notice(notice(1)).with_notice(notice(2)).postpone_failed(NOW)
    assert [each.notice.id for each in queue.waiting] == ["event-2", "event-1"]
    queue = queue.remove_delivered()
    for _ in range(MAX_TRIES - 1):
        assert queue.waiting
        queue = queue.postpone_failed(NOW)
    assert queue.waiting == ()


@given(st.integers(1, 500), st.integers(0, 3))
def test_however_many_come_few_wait_and_all_are_counted(many: int, tried: int) -> None:
    queue = ChannelQueue()
    for number in range(many):
        queue = queue.with_notice(notice(number))
        queue = queue.postpone_failed(NOW) if number < tried else queue
    assert len(queue.waiting) <= MAX_WAITING
    assert sum(each.notice.count for each in queue.waiting) == many
    merged = queue.merge(2)
    assert sum(each.notice.count for each in merged.waiting) == many
    assert {each.notice.id for each in queue.waiting if each.tries} == {
        each.notice.id for each in merged.waiting if each.tries
    }, "what may have arrived keeps its id"
