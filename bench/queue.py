"""Measures the queue: claims with a long backlog, and durable cycles compared with huey in the same run.

    .venv/bin/python bench/queue.py [--quick] [--seconds S] [--rounds N]

A cycle is enqueue + claim + complete with 500 bytes of payload and 1,000 tasks waiting. Each of the three operations is
durable before the next begins. Both systems flush at each commit (WAL, synchronous=FULL; for huey `fsync=True`, which
is equivalent to its default). The systems take turns in every round, because the speed of disks and machines varies:
compare the ratios. Our four claimers are coroutines over one writer, as in the daemon. huey's are four threads over one
storage, as in its consumer (enqueue, dequeue, execute with a stored result). Our queue has leases, fences, a
state machine and an event for each move in every cycle; huey has none of them.

The most that group commit can save is the time of the flush, which is printed first. Disks of virtual machines often
acknowledge a flush from a cache, in a tenth of a millisecond; a disk that really writes needs one to ten.
"""

# ruff: noqa: E402  the path comes first, see below
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import TaskSpec
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection

CLAIMERS = 4
WAITING = 1_000
PAYLOAD = "x" * 500
LATER = "2999-01-01T00:00:00.000000Z"


@contextmanager
def queue_at(path: Path) -> Iterator[QueueManager]:
    with Database(path) as db:
        yield QueueManager(db, EventLog(db))


def fill(path: Path, *, queued: int, scheduled: int = 0, done: int = 0) -> None:
    """Insert rows into the tables directly; submitting each would take minutes."""

    def rows(conn: Connection, status: str, count: int) -> None:
        first = conn.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM tasks").fetchone()[0]
        ids = range(first, first + count)
        conn.executemany(
            "INSERT INTO tasks (id, status, priority, description, not_before, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            ((n, status, n % 7, PAYLOAD, LATER, LATER) for n in ids),
        )
        conn.executemany(
            "INSERT INTO task_specs (task_id, spec) VALUES (?, ?)", ((n, f'{{"description":"{PAYLOAD}"}}') for n in ids)
        )

    def job(conn: Connection) -> None:
        rows(conn, "queued", done)
        conn.execute("UPDATE tasks SET status = 'running'")
        conn.execute("UPDATE tasks SET status = 'done', ended_at = created_at")
        rows(conn, "scheduled", scheduled)
        rows(conn, "queued", queued)

    with Database(path) as db:
        db.write(job).result()


# The functions below measure claims from queues with a long backlog.


def claims(folder: Path, backlog: int, count: int) -> None:
    """Measure claims from three queues by turns: first one by one, then many at once."""
    sizes = {
        "1,000 queued": {"queued": WAITING},
        f"{backlog:,} queued": {"queued": backlog},
        f"1,000 queued + {backlog:,} scheduled + {backlog:,} done": {
            "queued": WAITING,
            "scheduled": backlog,
            "done": backlog,
        },
    }
    paths = {name: folder / f"claims-{number}.sqlite" for number, name in enumerate(sizes)}
    for name, path in paths.items():
        fill(path, **sizes[name])
    alone: dict[str, list[float]] = {name: [] for name in sizes}
    together: dict[str, float] = {}
    databases = {name: Database(path) for name, path in paths.items()}
    queues = {name: QueueManager(db, EventLog(db)) for name, db in databases.items()}
    for _ in range(count):
        for name, queue in queues.items():
            alone[name].append(time_job(lambda queue=queue: queue.claim("bench").result()))  # type: ignore[misc]
    for name, queue in queues.items():
        batch = time_job(lambda queue=queue: [f.result() for f in [queue.claim("bench") for _ in range(count)]])  # type: ignore[misc]
        together[name] = batch / count
    print(f"claim, ms {'':48} p50 durable   ratio   p99   in a batch   ratio")
    base = next(iter(sizes))
    for name in sizes:
        p50, p99 = statistics.median(alone[name]), statistics.quantiles(alone[name], n=100)[98]
        print(
            f"  {name:56} {p50 * 1e3:11.3f} {p50 / statistics.median(alone[base]):7.2f} {p99 * 1e3:5.1f} "
            f"{together[name] * 1e3:12.3f} {together[name] / together[base]:7.2f}"
        )
    for name, queue in queues.items():
        took = statistics.median(time_job(queue.counts) for _ in range(5))
        print(f"  counts() with {name}: {took * 1e3:.1f} ms")
    for db in databases.values():
        db.close()


def time_job(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


# The functions below measure the cycles of our queue and of huey.


def nightshift_coroutines(path: Path, seconds: float) -> float:
    """Return cycles per second of four coroutines over one writer."""

    async def claimer(queue: QueueManager, until: float) -> int:
        cycles = 0
        while time.monotonic() < until:
            await asyncio.wrap_future(queue.submit(TaskSpec(description=PAYLOAD)))
            task = await asyncio.wrap_future(queue.claim("bench"))
            assert task is not None
            await asyncio.wrap_future(queue.finish(task.id, task.fence, Ending.COMMITTED))
            cycles += 1
        return cycles

    async def run(queue: QueueManager) -> int:
        until = time.monotonic() + seconds
        return sum(await asyncio.gather(*(claimer(queue, until) for _ in range(CLAIMERS))))

    with queue_at(path) as queue:
        nightshift_cycle(queue)
        return asyncio.run(run(queue)) / seconds


def nightshift_cycle(queue: QueueManager) -> None:
    queue.submit(TaskSpec(description=PAYLOAD)).result()
    task = queue.claim("bench").result()
    assert task is not None
    queue.finish(task.id, task.fence, Ending.COMMITTED).result()


def huey_at(path: Path, *, fsync: bool = True) -> tuple[Any, Callable[[str], object]]:
    """Open a huey queue and its task; the task has the same name in every process."""
    from huey import SqliteHuey  # type: ignore[import-untyped]  # noqa: PLC0415  needed for its half only

    def echo(payload: str) -> str:
        return payload

    echo.__module__ = "bench"
    huey = SqliteHuey(name="bench", filename=str(path), fsync=fsync)
    return huey, huey.task()(echo)


def huey_fill(path: Path) -> None:
    """Queue as many waiting tasks in huey as our queue has."""
    huey, echo = huey_at(path, fsync=False)
    for _ in range(WAITING):
        echo(PAYLOAD)
    huey.storage.close()


def _repeat(cycle: Callable[[], None], seconds: float) -> int:
    count, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        cycle()
        count += 1
    return count


def huey_threads(path: Path, seconds: float) -> float:
    """Return cycles per second of four threads over one huey."""
    huey, echo = huey_at(path)

    def cycle() -> None:
        echo(PAYLOAD)
        assert huey.execute(huey.dequeue()) == PAYLOAD

    cycle()
    with ThreadPoolExecutor(CLAIMERS) as pool:
        return sum(pool.map(_repeat, [cycle] * CLAIMERS, [seconds] * CLAIMERS)) / seconds


def cycles(folder: Path, seconds: float, rounds: int) -> None:
    ours, theirs = folder / "nightshift.sqlite", folder / "huey.sqlite"
    fill(ours, queued=WAITING)
    huey_fill(theirs)
    systems: dict[str, tuple[Callable[[Path, float], float], Path]] = {
        "nightshift, 4 coroutines, one writer": (nightshift_coroutines, ours),
        "huey, 4 threads": (huey_threads, theirs),
    }
    rates: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(rounds):
        for name, (run, path) in systems.items():
            rates[name].append(run(path, seconds))
    first = rates["nightshift, 4 coroutines, one writer"]
    print(f"durable cycles a second, {rounds} rounds of {seconds:g} s:  median   (each round)   first line is × this")
    for name, round_rates in rates.items():
        ratio = statistics.median(mine / other for mine, other in zip(first, round_rates, strict=True))
        each = ", ".join(f"{rate:.0f}" for rate in round_rates)
        print(f"  {name:40} {statistics.median(round_rates):18.0f}   ({each})   {ratio:.2f}")


def flushes(folder: Path) -> None:
    """Print how long the disk takes for a flush."""
    path, took = folder / "flush", list[float]()
    with path.open("wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            took.append(time_job(lambda: os.fdatasync(file.fileno())))
    p50, p99 = statistics.median(took), statistics.quantiles(took, n=100)[98]
    print(f"disk: fdatasync of 4 KB p50 {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the queue.")
    parser.add_argument("--quick", action="store_true", help="20,000 instead of 200,000 tasks, one round of a second")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one system's turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=ROOT / "state", help="where the databases are made")
    flags = parser.parse_args()
    if flags.quick:
        flags.seconds, flags.rounds = 1.0, 1
    flags.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-queue-", dir=flags.folder) as name:
        folder = Path(name)
        flushes(folder)
        claims(folder, 20_000 if flags.quick else 200_000, 100 if flags.quick else 400)
        cycles(folder, flags.seconds, flags.rounds)


if __name__ == "__main__":
    main()
