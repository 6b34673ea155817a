from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.events import Event, Kind, Level
from nightshift.server.auth.guard import Guard, Policy
from nightshift.server.context import AppContext
from nightshift.server.log.stream import Stream
from nightshift.server.serving.engine import Engine
from nightshift.server.serving.sockets import bind_tcp
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support.app_context import Client, fill, make_desk
from tests.support.sse import Listener


@pytest.fixture
def port(client: Client) -> int:
    return client.host.port


def test_events_arrive_with_their_ids_as_they_happen(context: AppContext, port: int, listen: type[Listener]) -> None:
    fill(context, 3)
    listener = listen(port)
    assert listener.status == 200
    assert "content-type: text/event-stream" in listener.head
    assert "cache-control: no-store" in listener.head
    fill(context, 2)
    first, second = listener.take(2)
    assert (first[1], second[1]) == (4, 5)
    assert first[2]["event"] == "model_called"
    assert first[2]["timestamp"].endswith("Z")


def test_after_and_last_event_id_resume_behind_the_id(context: AppContext, port: int, listen: type[Listener]) -> None:
    fill(context, 10)
    assert listen(port, "?after=7").ids(3) == [8, 9, 10]
    assert listen(port, "?after=0").ids(10) == list(range(1, 11))
    # A browser reconnects to the original address, so its `Last-Event-ID` header is newer than `after`.
    assert listen(port, "?after=2", last_id=9).ids(1) == [10]


def test_the_filters_hold_for_what_was_and_for_what_comes(
    context: AppContext, port: int, listen: type[Listener]
) -> None:
    for level in Level:
        fill(context, 1, level=level, task_id=1)
        fill(context, 1, level=level, task_id=2)
    bad = listen(port, "?after=0&level=WARNING&task=2")
    assert bad.ids(2) == [6, 8]
    for level in Level:
        fill(context, 1, level=level, task_id=1)
        fill(context, 1, level=level, task_id=2)
    assert bad.ids(2) == [14, 16]


def test_a_wrong_last_event_id_is_refused(shared: Client) -> None:
    assert shared.get("/api/logs/stream", Last_Event_ID="5&task=3").status == 400


def test_nothing_is_lost_or_doubled_under_concurrent_writes_and_reconnects(
    context: AppContext, port: int, listen: type[Listener]
) -> None:
    """Check that every client receives each event once.

    Clients drop their connection at random moments and resume by id while four threads write.
    """
    total, seen = 1200, list[list[int]]()

    def write() -> None:
        for _ in range(total // 4):
            context.events.emit(Event(kind=Kind.MODEL_CALLED, message="x"))

    def read(seed: int) -> None:
        got: list[int] = []
        rng = random.Random(seed)
        while len(got) < total:
            listener = listen(port, last_id=got[-1] if got else 0)
            got += [number or 0 for number in listener.ids(min(rng.randint(1, 400), total - len(got)))]
            listener.close()
        seen.append(got)

    threads = [threading.Thread(target=write) for _ in range(4)]
    threads += [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [list(range(1, total + 1))] * 4


def test_a_long_log_is_read_in_pages(context: AppContext, port: int, listen: type[Listener]) -> None:
    held = listen(port)
    fill(context, 5200)
    assert held.ids(5200) == list(range(1, 5201))
    assert listen(port, "?after=0").ids(5200) == list(range(1, 5201))
    fill(context, 1, level=Level.ERROR)
    assert listen(port, "?after=0&level=ERROR").ids(1) == [5201]


def test_events_of_another_process_are_not_skipped(context: AppContext, port: int, listen: type[Listener]) -> None:
    listener = listen(port)
    with Database(context.database.path) as other:
        EventLog(other).emit(Event(kind=Kind.MODEL_CALLED, message="theirs"))
    fill(context, 1)
    assert listener.ids(2) == [1, 2]


def test_an_id_from_the_future_is_answered_with_a_resync(
    context: AppContext, port: int, listen: type[Listener]
) -> None:
    fill(context, 3)
    listener = listen(port, last_id=900)
    assert listener.take(1) == [("resync", 3, {})]
    fill(context, 1)
    assert listener.ids(1) == [4]


def test_nothing_grows_for_clients_that_take_nothing_and_nothing_is_skipped(
    context: AppContext, client: Client, listen: type[Listener]
) -> None:
    """Check that slow clients cost no memory and miss nothing.

    No queue can overflow: each client has a cursor, and the events stay in the database.
    """
    slow = [listen(client.host.port, "?after=0", receive_buffer=4096) for _ in range(2)]
    quick = listen(client.host.port)
    for _ in range(3):
        fill(context, 1000, size=1900)
    assert quick.ids(3000)[-1] == 3000
    connections = client.host._engine.server_state.connections
    assert all(each.transport.get_write_buffer_size() < 3_000_000 for each in connections)
    for listener in slow:
        assert listener.ids(3000) == list(range(1, 3001))


def wait_until(true: Callable[[], bool], wall_s: float = 2) -> None:
    end = time.monotonic() + wall_s
    while not true():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.005)


@asynccontextmanager
async def streaming(context: AppContext, **settings: Any) -> AsyncIterator[tuple[int, Stream]]:
    """Serve only the event stream, with the given settings, on the event loop of the test."""
    stream, bound = Stream(context.events, context.live, context.mask, **settings), bind_tcp("127.0.0.1", 0)
    started = asyncio.Event()
    engine = Engine(Guard(stream, Policy()), started.set)
    serving = asyncio.create_task(engine.serve([bound]))
    await started.wait()
    try:
        yield bound.getsockname()[1], stream
    finally:
        await stream.close()
        engine.stop()
        await serving


async def test_a_silent_stream_beats_and_tells_how_to_reconnect(context: AppContext, listen: type[Listener]) -> None:
    async with streaming(context, heartbeat_s=0.1, retry_ms=1234) as (port, _):
        listener = await asyncio.to_thread(listen, port)
        await asyncio.to_thread(listener.beat)
        await asyncio.to_thread(listener.beat)
        assert listener.retry_ms == 1234
        fill(context, 1)
        assert await asyncio.to_thread(listener.ids, 1) == [1]


async def test_a_filtered_stream_beats_although_other_events_happen(
    context: AppContext, listen: type[Listener]
) -> None:
    async with streaming(context, heartbeat_s=0.3) as (port, _):
        listener = await asyncio.to_thread(listen, port, "?level=ERROR")
        beat = asyncio.create_task(asyncio.to_thread(listener.beat))
        while not beat.done():
            fill(context, 1)
            await asyncio.sleep(0.05)
        assert listener.beats == 1


async def test_events_that_no_commit_of_ours_announced_are_found_at_the_heartbeat(
    context: AppContext, listen: type[Listener]
) -> None:
    async with streaming(context, heartbeat_s=0.2) as (port, _):
        listener = await asyncio.to_thread(listen, port)
        with Database(context.database.path) as other:
            EventLog(other).emit(Event(kind=Kind.MODEL_CALLED, message="theirs"))
        assert await asyncio.to_thread(listener.ids, 1) == [1]


async def test_more_clients_than_allowed_are_asked_to_come_later(context: AppContext, listen: type[Listener]) -> None:
    async with streaming(context, max_clients=2) as (port, stream):
        first = await asyncio.to_thread(listen, port)
        await asyncio.to_thread(listen, port)
        refused = await asyncio.to_thread(listen, port)
        assert refused.status == 503
        assert "retry-after" in refused.head
        first.close()
        await asyncio.to_thread(wait_until, lambda: len(stream._feeds) == 1)
        assert (await asyncio.to_thread(listen, port)).status == 200


async def test_a_client_that_takes_nothing_for_long_is_dropped(context: AppContext, listen: type[Listener]) -> None:
    fill(context, 3000, size=1500)
    async with streaming(context, send_wall_s=0.2) as (port, stream):
        await asyncio.to_thread(listen, port, "?after=0", receive_buffer=4096)
        assert stream._feeds
        await asyncio.to_thread(wait_until, lambda: not stream._feeds)


async def test_a_log_that_cannot_be_read_ends_the_stream_and_the_next_client_starts_anew(
    tmp_path: Path, listen: type[Listener], caplog: pytest.LogCaptureFixture
) -> None:
    context = make_desk(tmp_path)
    async with streaming(context, heartbeat_s=0.1) as (port, _):
        listener = await asyncio.to_thread(listen, port)
        with Database(context.database.path) as other:
            other.write(lambda conn: conn.execute("ALTER TABLE execution_logs RENAME TO hidden")).result()
            assert await asyncio.to_thread(listener.rest) == [("end", None, {})]
            assert "cannot read the log" in caplog.text
            other.write(lambda conn: conn.execute("ALTER TABLE hidden RENAME TO execution_logs")).result()
        again = await asyncio.to_thread(listen, port)
        fill(context, 1)
        assert await asyncio.to_thread(again.ids, 1) == [1]
    context.database.close()
