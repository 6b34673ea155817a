"""Each side thread of the daemon that ends with an error is restarted, and the status page reports the error."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nightshift.core.events import Event, Kind
from nightshift.maintenance.side_threads import SideThread, SideThreads
from nightshift.queue.intake.tasks_file import Reading
from nightshift.queue.intake.watcher import Watcher
from nightshift.server.serving.host import Host, Listen
from nightshift.storage.db.file_log import FileLog
from tests.support.app_context import make_desk

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


@dataclass
class Subject:
    """A side thread with two functions for its test.

    Attributes:
        thread: The side thread.
        harm: Makes the thread end with an error.
        works: Checks that the thread does its work.
    """

    thread: SideThread
    harm: Callable[[], object]
    works: Callable[[], bool]


def wait_until(true: Callable[[], bool]) -> bool:
    for _ in range(300):
        with suppress(OSError):
            if true():
                return True
        time.sleep(0.05)
    return False


@pytest.fixture(params=["a callback raises", "the web server ends"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    if request.param == "the web server ends":
        context = make_desk(tmp_path)
        host = Host(context, Listen(port=0))
        host.start()
        port = host.port
        yield Subject(
            thread=SideThread(name="The web server", is_alive=lambda: host.is_alive, revive=host.start),
            harm=lambda: host._loop.call_soon_threadsafe(host._loop.stop),
            works=lambda: host.port == port and _answers(port),
        )
        host.stop()
        context.database.close()
        return
    path, readings = tmp_path / "tasks.yaml", list[list[str]]()
    broken = threading.Event()

    def read(reading: Reading) -> bool:
        if broken.is_set():
            broken.clear()
            raise ValueError("nobody expected this")
        readings.append([entry.spec.description for entry in reading.entries])
        return True

    path.write_text("tasks: [first]\n")
    watcher = Watcher(path, read, lambda _: None, lambda _: None, debounce_s=0.05)
    watcher.start()
    assert wait_until(lambda: readings == [["first"]])

    def harm() -> None:
        broken.set()
        path.write_text("tasks: [lost]\n")

    def works() -> bool:
        path.write_text(f"tasks: [saved {time.monotonic_ns()}]\n")
        return wait_until(lambda: readings[-1] != [] and readings[-1][0].startswith("saved"))

    yield Subject(
        thread=SideThread(name="The watcher", is_alive=lambda: watcher.is_alive, revive=watcher.revive),
        harm=harm,
        works=works,
    )
    watcher.stop()


def _answers(port: int) -> bool:
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
        return bool(answer.status == 200)


async def test_what_ends_by_an_error_is_started_again_and_said(subject: Subject) -> None:
    events = list[Event]()
    threads = SideThreads(events.append, lambda: NOW)
    threads.add(subject.thread)
    await threads.look()
    assert (threads.notices, events) == ((), [])
    subject.harm()
    assert await asyncio.to_thread(wait_until, lambda: not subject.thread.is_alive())
    await threads.look()
    assert subject.thread.is_alive()
    assert await asyncio.to_thread(wait_until, subject.works)
    (notice,) = threads.notices
    assert notice.startswith(f"{subject.thread.name} had stopped with an error and was restarted at 2026-03-20 12:00")
    assert [event.kind for event in events] == [Kind.WORKER_ERROR]


def test_the_log_writer_goes_on_after_any_error(tmp_path: Path) -> None:
    messages, times = list[str](), [NOW]
    written = FileLog(tmp_path / "logs" / "agent.log", clock=times.pop, report=messages.append)
    for message in ("lost", "kept"):
        written([Event(id=1, at=NOW, kind=Kind.COMMITTED, message=message)])
        times.append(NOW)
    written.close()
    assert '"kept"' in (tmp_path / "logs" / "agent.log").read_text()
