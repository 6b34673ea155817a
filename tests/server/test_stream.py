from __future__ import annotations

import random
import threading
import time

import pytest

from core.events import Event, Kind, Level
from db.database import Database
from db.event_log import EventLog
from server.desk import Desk
from tests.support.desk import Client, fill
from tests.support.sse import Listener


@pytest.fixture
def port(client: Client) -> int:
    return client.host.port


def test_events_arrive_with_their_ids_as_they_happen(desk: Desk, port: int, listen: type[Listener]) -> None:
    fill(desk, 3)
    listener = listen(port)
    assert listener.status == 200
    assert "content-type: text/event-stream" in listener.head
    assert "cache-control: no-store" in listener.head
    fill(desk, 2)
    first, second = listener.take(2)
    assert (first[1], second[1]) == (4, 5)
    assert first[2]["event"] == "model_called"
    assert first[2]["timestamp"].endswith("Z")


def test_a_stream_line_is_what_the_log_page_of_the_api_shows(
    desk: Desk, client: Client, listen: type[Listener]
) -> None:
    listener = listen(client.host.port, "?after=0")
    client.post("/api/task", {"description": "line one\nline two é \u2028"})
    (sent,) = listener.take(1)
    assert sent[2] == client.get("/api/logs").json["events"][0]


def test_after_and_last_event_id_resume_behind_the_id(desk: Desk, port: int, listen: type[Listener]) -> None:
    fill(desk, 10)
    assert listen(port, "?after=7").ids(3) == [8, 9, 10]
    assert listen(port, "?after=0").ids(10) == list(range(1, 11))
    # A browser reconnects to the old address; its header is the newer word.
    assert listen(port, "?after=2", last_id=9).ids(1) == [10]


def test_the_filters_hold_for_what_was_and_for_what_comes(desk: Desk, port: int, listen: type[Listener]) -> None:
    for level in Level:
        fill(desk, 1, level=level, task_id=1)
        fill(desk, 1, level=level, task_id=2)
    bad = listen(port, "?after=0&level=WARNING&task=2")
    assert bad.ids(2) == [6, 8]
    for level in Level:
        fill(desk, 1, level=level, task_id=1)
        fill(desk, 1, level=level, task_id=2)
    assert bad.ids(2) == [14, 16]


@pytest.mark.parametrize("query", ["?after=x", "?after=-1", "?level=LOUD", "?task=0", "?nope=1", "?after=1&after=2"])
def test_wrong_parameters_are_refused_by_name(client: Client, query: str) -> None:
    got = client.get(f"/api/logs/stream{query}")
    assert got.status == 400
    (name,) = got.json["fields"]
    assert name in query


def test_a_wrong_last_event_id_is_refused(port: int, client: Client) -> None:
    assert client.get("/api/logs/stream", Last_Event_ID="5&task=3").status == 400


def test_only_get_and_head_reach_the_stream(client: Client) -> None:
    assert client.request("HEAD", "/api/logs/stream").status == 200
    refused = client.post("/api/logs/stream", {})
    assert refused.status == 405
    assert "GET" in refused.headers["allow"]


def test_nothing_is_lost_or_doubled_under_concurrent_writes_and_reconnects(
    desk: Desk, port: int, listen: type[Listener]
) -> None:
    """Clients drop their connection at random moments and resume by id while four threads write."""
    total, seen = 1200, list[list[int]]()

    def write() -> None:
        for _ in range(total // 4):
            desk.events.emit(Event(kind=Kind.MODEL_CALLED, message="x"))

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


def test_fifty_clients_all_get_everything(desk: Desk, port: int, listen: type[Listener]) -> None:
    listeners = [listen(port) for _ in range(50)]
    for _ in range(20):
        fill(desk, 5)
    for listener in listeners:
        assert listener.ids(100) == list(range(1, 101))
    listen(port, "?after=0").close()


def test_what_lies_beyond_the_ring_is_read_from_the_log(desk: Desk, port: int, listen: type[Listener]) -> None:
    held = listen(port)  # keeps the ring filled
    fill(desk, 5200)
    assert held.ids(5200) == list(range(1, 5201))
    assert listen(port, "?after=0").ids(5200) == list(range(1, 5201))
    fill(desk, 1, level=Level.ERROR)
    assert listen(port, "?after=0&level=ERROR").ids(1) == [5201]


def test_events_of_another_process_are_not_skipped(desk: Desk, port: int, listen: type[Listener]) -> None:
    listener = listen(port)
    with Database(desk.database.path) as other:
        EventLog(other).emit(Event(kind=Kind.MODEL_CALLED, message="theirs"))
    fill(desk, 1)
    assert listener.ids(2) == [1, 2]


def test_an_id_from_the_future_is_answered_with_a_resync(desk: Desk, port: int, listen: type[Listener]) -> None:
    fill(desk, 3)
    listener = listen(port, last_id=900)
    assert listener.take(1) == [("resync", 3, {})]
    fill(desk, 1)
    assert listener.ids(1) == [4]


def test_a_slow_client_is_served_from_the_log_and_misses_nothing(desk: Desk, port: int, listen: type[Listener]) -> None:
    slow = listen(port, "?after=0", receive_buffer=4096)
    for _ in range(6):
        fill(desk, 1000, size=500)
        time.sleep(0.05)
    assert slow.ids(6000) == list(range(1, 6001))


def test_the_reader_runs_only_while_somebody_listens(desk: Desk, client: Client, listen: type[Listener]) -> None:
    stream = client.host._stream
    listeners = [listen(client.host.port) for _ in range(3)]
    fill(desk, 1)
    assert [listener.ids(1) for listener in listeners] == [[1]] * 3
    for listener in listeners:
        listener.close()
    wait_until(lambda: not stream._feeds and stream._tail._reader is None)
    assert desk.events._subscribers == []


def wait_until(true: object, wall_s: float = 2) -> None:
    end = time.monotonic() + wall_s
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.005)
