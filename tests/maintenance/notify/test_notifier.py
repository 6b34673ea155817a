"""An event reaches the receiver of notices at least once and under one id, despite failures and restarts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.events import Event, Kind, Level
from nightshift.maintenance.notify.channels import Channels
from nightshift.maintenance.notify.notices import NoticeKind
from nightshift.maintenance.notify.notifier import BURST, KEY, WINDOW_S, Notifier
from tests.support.receiver import Receiver, receiving
from tests.support.store import Store, open_store

ALL = frozenset(NoticeKind)


@dataclass
class Post:
    """A notifier over a real database, with a clock for its rate limit."""

    store: Store
    channels: Channels
    now: float = 0.0
    notifiers: list[Notifier] = field(default_factory=list)

    def notifier(self) -> Notifier:
        new_notifier = Notifier(
            events=self.store.events,
            state=self.store.state,
            channels=lambda: self.channels,
            name_of=lambda task_id: f"title of {task_id}",
            clock=self.store.clock,
            monotonic=lambda: self.now,
        )
        self.notifiers.append(new_notifier)
        return new_notifier

    def happen(self, many: int = 1, kind: Kind = Kind.DISK_LOW, **data: Any) -> None:
        for _ in range(many):
            self.store.events.emit(Event(kind=kind, level=Level.ERROR, message="x", data=data))
        for _ in range(2):  # a future resolves before subscribers are called; the second write comes after them
            self.store.events.catch_up().result()

    def list_events(self, kind: Kind) -> list[Event]:
        self.store.events.catch_up().result()
        return [event for event in self.store.events.last(500) if event.kind is kind]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as new_receiver:
        yield new_receiver


@pytest.fixture
def at(tmp_path: Path, receiver: Receiver) -> Iterator[Post]:
    with open_store(tmp_path / "db.sqlite") as store:
        yield Post(store, Channels(url=receiver.url, secret="hush", on=ALL))


async def test_what_happened_before_the_first_start_is_no_news_and_what_comes_is(at: Post, receiver: Receiver) -> None:
    at.happen(3)
    notifier = at.notifier()
    await notifier.turn()
    assert receiver.bodies == []
    at.happen()
    await notifier.turn()
    await notifier.turn()
    assert [notice["event"] for notice in receiver.notices] == ["disk_low"]
    (event,) = at.list_events(Kind.NOTIFIED)
    assert event.data["notice"] == receiver.notices[0]["id"]


async def test_a_receiver_that_was_away_gets_each_notice_later_also_from_another_daemon(
    at: Post, receiver: Receiver
) -> None:
    notifier = at.notifier()
    await notifier.turn()
    receiver.statuses = [503]
    at.happen()
    await notifier.turn()
    await notifier.turn()
    assert len(receiver.bodies) == 1, "it rests"
    assert [event.level for event in at.list_events(Kind.NOTIFY_FAILED)] == [Level.WARNING]
    at.store.clock.advance(61)
    await at.notifier().turn()
    first, second = receiver.notices
    assert first == second, "the same notice under the same id"
    assert at.store.state.get(KEY)["queues"]["notify_url"]["waiting"] == []


async def test_a_steady_flow_is_slowed_and_nothing_of_it_is_lost(at: Post, receiver: Receiver) -> None:
    notifier = at.notifier()
    await notifier.turn()
    for _ in range(3 * BURST):
        at.happen()
        await notifier.turn()
    assert len(receiver.bodies) == BURST
    at.now += WINDOW_S
    await notifier.turn()
    assert len(receiver.bodies) == BURST + 1
    assert sum(notice["count"] for notice in receiver.notices) == 3 * BURST


async def test_a_receiver_that_fails_does_not_keep_the_command_waiting(
    at: Post, receiver: Receiver, tmp_path: Path
) -> None:
    code = f"import sys; open({str(tmp_path / 'told')!r}, 'a').write(sys.stdin.read() + '\\n')"
    at.channels = Channels(command=(sys.executable, "-c", code), url=receiver.url, on=ALL)
    notifier = at.notifier()
    await notifier.turn()
    receiver.statuses = [500] * 9
    at.happen()
    await notifier.turn()
    assert "disk_low" in _text(tmp_path / "told")
    assert len(at.list_events(Kind.NOTIFIED)) == 1


async def test_that_telling_fails_is_never_told(at: Post, receiver: Receiver) -> None:
    notifier = at.notifier()
    await notifier.turn()
    at.happen(kind=Kind.NOTIFY_FAILED)
    at.happen(kind=Kind.WORKER_ERROR, chore="notices")
    await notifier.turn()
    assert receiver.bodies == []


def _text(path: Path) -> str:
    return path.read_text()
