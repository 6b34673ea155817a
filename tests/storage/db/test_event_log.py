"""The log: order, cursor, filters, masking, and subscribers."""

import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.states import Phase
from nightshift.storage.db.event_log import EventFilter, EventLog
from tests.support.store import HandClock, Store, open_store

SECRET = "correct-horse-battery"


def event(message: str = "", level: Level = Level.INFO, **rest: object) -> Event:
    return Event(kind=Kind.CHECKPOINT, message=message, level=level, **rest)  # type: ignore[arg-type]


def flush(store: Store) -> None:
    """Wait until all events so far are stored and delivered to subscribers."""
    for _ in range(2):
        store.events.catch_up().result(10)


def test_an_event_comes_back_as_it_was_stored(store: Store) -> None:
    full = event(
        "hällo",
        Level.WARNING,
        task_id=7,
        attempt=2,
        iteration=3,
        phase=Phase.CODING,
        worker="w-1",
        data={"a": [1, None]},
    )
    assert store.db.write(lambda conn: store.events.append(conn, full)).result() == 1
    (stored_event,) = store.events.after(0, limit=5)
    assert stored_event == replace(full, id=1, at=store.clock())
    assert store.events.last(5) == [stored_event]


def test_emitting_never_raises(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(tmp_path / "a.sqlite")
    store.events.emit(event("odd", data={"a": object(), "b": {1, 2}, 3: float("nan"), "c": b"\xff", "d": Path("/x")}))
    flush(store)
    assert store.events.last(1)[0].data["3"] == "nan"
    store.db.close()
    with caplog.at_level(logging.ERROR):
        store.events.emit(event("too late"))
    assert "an event could not be stored" in caplog.text


def test_a_cursor_misses_nothing_and_sees_nothing_twice(tmp_path: Path) -> None:
    """Read with a cursor while four writers write through two connections to one database file."""
    with open_store(tmp_path / "a.sqlite") as first, open_store(tmp_path / "a.sqlite") as second:

        def work(log: EventLog, name: int) -> None:
            for number in range(100):
                log.emit(event(f"{name}.{number}"))

        logs = (first.events, first.events, second.events, second.events)
        threads = [threading.Thread(target=work, args=(log, name)) for name, log in enumerate(logs)]
        for thread in threads:
            thread.start()
        seen: list[Event] = []
        while len(seen) < 400:
            seen += first.events.after(seen[-1].id if seen else 0, limit=7)
        for thread in threads:
            thread.join()
        assert [e.id for e in seen] == list(range(1, 401))
        for n in range(4):
            assert [e.message for e in seen if e.message.startswith(f"{n}.")] == [f"{n}.{i}" for i in range(100)]


def test_an_event_of_a_job_that_fails_is_never_seen(store: Store) -> None:
    events: list[Event] = []
    store.events.subscribe(events.extend)

    def job(conn: object) -> None:
        store.events.append(conn, event("never"))  # type: ignore[arg-type]
        raise LookupError

    with pytest.raises(LookupError):
        store.db.write(job).result()
    store.events.emit(event("after"))
    flush(store)
    assert [(e.id, e.message) for e in events] == [(1, "after")]


def test_subscribers_are_told_what_others_wrote_too_in_order(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite") as first, open_store(tmp_path / "a.sqlite") as second:
        first.events.emit(event("before"))
        flush(first)
        events: list[Event] = []
        stop = first.events.subscribe(events.extend)
        for number in range(3):
            second.db.write(partial(second.events.append, event=event(f"two {number}"))).result()
        first.db.write(lambda conn: first.events.append(conn, event("one"))).result()
        second.db.write(lambda conn: second.events.append(conn, event("two 3"))).result()
        first.events.catch_up().result()
        flush(first)
        assert [e.message for e in events] == ["two 0", "two 1", "two 2", "one", "two 3"]
        assert events == first.events.after(1, limit=10)
        stop()
        stop()
        first.events.emit(event("unheard"))
        flush(first)
        assert len(events) == 5


def test_filters_can_be_combined(store: Store) -> None:
    for number in range(40):
        level = list(Level)[number % 4]
        store.events.emit(event(f"no {number} 100%", level, task_id=number % 3, worker=f"w{number % 2}"))
    flush(store)
    log = store.events
    assert [e.id for e in log.after(10, limit=3, wanted=EventFilter(level=Level.WARNING))] == [11, 12, 15]
    assert [e.id for e in log.last(2, EventFilter(level=Level.ERROR))] == [36, 40]
    several = EventFilter(level=Level.INFO, task_id=1, worker="w0")
    assert [e.id for e in log.after(0, limit=3, wanted=several)] == [11, 23, 35]


def test_secrets_are_masked_in_message_and_data(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.sqlite", secrets=(SECRET, 'quote"and\\slash')) as store:
        data = {"deep": [{"x": f"a {SECRET}"}], SECRET: 1, "q": 'a quote"and\\slash b'}
        store.events.emit(event(f"key {SECRET}", data=data))
        flush(store)
        stored_event = store.events.last(1)[0]
        assert stored_event.message == "key ***"
        assert stored_event.data == {"deep": [{"x": "a ***"}], "***": 1, "q": "a *** b"}


def test_long_data_becomes_an_artifact_and_long_messages_are_cut(store: Store) -> None:
    store.events.emit(event("m" * 5000, data={"text": "x" * 9000}))
    flush(store)
    stored_event = store.events.last(1)[0]
    assert len(stored_event.message) == 2000
    assert stored_event.message.endswith("… (cut)")
    assert stored_event.data["cut"] is True
    assert "x" * 9000 in (store.steps.artifact(stored_event.data["artifact"]) or "")


def test_what_a_terminal_or_a_reader_would_obey_is_stored_as_an_escape(store: Store) -> None:
    hostile = "\x1b]0;x\x07 \u202e \x00\nsecond line"
    store.events.emit(event(hostile, data={hostile: [hostile]}))
    flush(store)
    stored_event, shown = store.events.last(1)[0], "\\x1b]0;x\\x07 \\u{202e} \\x00\nsecond line"
    assert (stored_event.message, stored_event.data) == (shown, {shown: [shown]})


def test_the_cursor_of_a_moment_leads_to_what_came_since(tmp_path: Path) -> None:
    clock = HandClock()
    with open_store(tmp_path / "a.sqlite", clock) as store:
        assert store.events.cursor_at(clock()) == 0
        for number in range(10):
            store.events.emit(event(str(number)))
            clock.advance(60)
        flush(store)
        start = datetime(2026, 3, 1, 12, 4, tzinfo=UTC)
        cursor = store.events.cursor_at(start)
        assert [e.message for e in store.events.after(cursor, limit=99)] == list("456789")
        assert store.events.after(store.events.cursor_at(clock()), limit=9) == []
        store.db.write(lambda conn: conn.execute("DELETE FROM execution_logs WHERE id IN (2, 5, 6)")).result()
        cursor = store.events.cursor_at(start)
        assert [e.message for e in store.events.after(cursor, limit=99)] == list("6789")
