"""How fast the hub's queue is on a PostgreSQL server with fsync: claims, wake-ups, and what renewals cost.

    .venv/bin/python bench/hub.py [--quick] [--seconds S] [--rounds N] [--only PART] [--server embedded|debian]
    .venv/bin/python -m pip install --target state/.procrastinate procrastinate   (for the lines that compare)

`claims`: cycles of claim + finish a second with 200,000 tasks waiting, of 1, 4 and 16 nodes of four workers each. A
node is a process, a worker is a thread with a connection, as in the daemon. Procrastinate takes turns with it on the
same server, each by its own interface, and again by its two statements through the driver alone. The hub's cycle holds
a lease, a fence, a turn for each of 20 repositories, a trigger for the table of moves, two events and messages to the
nodes that ran the task and that it came from, which read them; procrastinate's holds a trigger and two events. Clients
and server share the processors here, so read the ratios, and the server's own time for a cycle.

`classes`: the same with four nodes when the tasks are of 1, 20, 200 and 2,000 classes (a repository and what it needs),
and when 4,000 tasks run. `wake`: from the call that submits a task on one connection to the answer that gives it to a
node that listens on others, while 0, 16 and 64 more listen. `beats`: processor time of the server's processes for nodes
with four tasks each, 1,000 tasks in all, that renew every third of a lease of 60 s.
"""

# ruff: noqa: E402  the path comes first, see below
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's
THEIRS = ROOT / "state" / ".procrastinate"
sys.path.append(str(THEIRS))

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

import psutil
import psycopg

from bench.queue import flushes
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import Node, join
from nightshift.remote.hub.queue import CLAIM, Held, HubQueue, Result
from nightshift.storage.db.codec import encode
from tests.support.postgres import PostgresServer, hub, servers

WORKERS, LEASE_S = 4, 60.0
WAITING = 200_000
IN_SCHEMA: dict[str, Any] = {"options": "-c search_path=nightshift", "autocommit": True}
SPEC = TaskSpec(description="x" * 500)
DONE = Result(status=Status.DONE, ending=Ending.COMMITTED, commit="c0ffee")
Cycle = Callable[[], None]


def server_seconds(server: PostgresServer) -> float:
    """Processor time of the server's processes until now, those that have ended included."""
    assert server.process
    main = psutil.Process(server.process.pid)
    times = [main.cpu_times()]
    for child in main.children():
        with suppress(psutil.NoSuchProcess):
            times.append(child.cpu_times())
    return sum(t.user + t.system for t in times) + times[0].children_user + times[0].children_system


def fill(url: str, count: int, classes: int = 20) -> None:
    """Let that many tasks wait, at once; submitting each would take minutes."""
    with psycopg.connect(url, **IN_SCHEMA) as conn:
        conn.execute("INSERT INTO nodes (id, name, public_key) VALUES ('origin', 'origin', '') ON CONFLICT DO NOTHING")
        conn.execute(
            "INSERT INTO classes (share, needs) SELECT 'repository ' || n, '{}' FROM generate_series(1, %s) AS n",
            (classes,),
        )
        conn.execute(
            "INSERT INTO tasks (spec, title, class, priority, status, origin) "
            "SELECT %s, 'x', (SELECT min(id) FROM classes) + n %% %s, n %% 3, 'queued', 'origin' "
            "FROM generate_series(1, %s) AS n",
            (encode(SPEC), classes, count),
        )
        conn.execute("VACUUM ANALYZE")
        conn.execute("CHECKPOINT")


# ---- clients --------------------------------------------------------------------------------------------------------


@contextmanager
def hub_node(url: str, node: str) -> Iterator[Cycle]:
    """One cycle of a worker of this node."""
    connections = HubConnections(url, most=WORKERS + 1)
    join(connections, Node(id=node, name=node, slots=WORKERS))
    queue = HubQueue(connections, node, LEASE_S)
    queue.beat([])
    over = threading.Event()
    reader = threading.Thread(target=read_when_told, args=(connections, queue, over))
    reader.start()

    def cycle() -> None:
        (claim,) = queue.claim()
        queue.finish(claim.held, DONE)

    yield cycle
    over.set()
    reader.join()
    connections.close()


def read_when_told(connections: HubConnections, queue: HubQueue, over: threading.Event) -> None:
    """Read the messages of a node when the hub notifies it, as a node does."""
    with connections.listening() as conn:
        while not over.is_set():
            if any(notice.payload == queue.node for notice in conn.notifies(timeout=0.1, stop_after=1)):
                while news := queue.news():
                    queue.read_news([number for number, _ in news])


@contextmanager
def hub_statements(url: str, node: str) -> Iterator[Cycle]:
    """The same two statements, through the driver alone."""
    with hub_node(url, node), per_thread(partial(psycopg.connect, url, **IN_SCHEMA)) as conn:

        def cycle() -> None:
            row = conn().execute(CLAIM, (node, 1))
            task = dict(zip((column.name for column in row.description or ()), row.fetchone() or (), strict=True))
            said = (task["id"], node, task["fence"], DONE.commit)
            conn().execute("SELECT finish(%s, %s, %s, 'done', 'committed', '', %s, NULL, 0, '{}', '')", said)

        yield cycle


@contextmanager
def procrastinate_statements(url: str, _node: str) -> Iterator[Cycle]:
    from procrastinate import sql  # type: ignore[import-not-found]  # noqa: PLC0415  for its half only

    fetch, finish = sql.queries["fetch_job"].encode(), sql.queries["finish_job"].encode()
    with per_thread(partial(psycopg.connect, url, autocommit=True)) as conn:

        def cycle() -> None:
            row = conn().execute(fetch, {"queues": None, "worker_id": None}).fetchone()
            assert row
            conn().execute(finish, {"job_id": row[0], "status": "succeeded", "delete_job": False})

        yield cycle


@contextmanager
def procrastinate_node(url: str, _node: str) -> Iterator[Cycle]:
    """Its own interface; each worker has a loop of its own."""
    from procrastinate import App, PsycopgConnector  # noqa: PLC0415  for its half only
    from procrastinate.jobs import Status as Ended  # type: ignore[import-not-found]  # noqa: PLC0415  as above

    own, opened = threading.local(), list[tuple[asyncio.AbstractEventLoop, Any]]()

    def cycle() -> None:
        if not hasattr(own, "loop"):
            own.loop = asyncio.new_event_loop()
            own.app = App(connector=PsycopgConnector(conninfo=url, min_size=1, max_size=1))
            own.loop.run_until_complete(own.app.open_async())
            opened.append((own.loop, own.app))
        own.loop.run_until_complete(one())

    async def one() -> None:
        job = await own.app.job_manager.fetch_job(queues=None, worker_id=None)
        await own.app.job_manager.finish_job(job, Ended.SUCCEEDED, delete_job=False)

    yield cycle
    for loop, app in opened:
        loop.run_until_complete(app.close_async())
        loop.close()


@contextmanager
def per_thread(connect: Callable[[], psycopg.Connection[Any]]) -> Iterator[Callable[[], psycopg.Connection[Any]]]:
    """Give each thread a connection of its own."""
    own, opened = threading.local(), list[psycopg.Connection[Any]]()

    def connection() -> psycopg.Connection[Any]:
        if not hasattr(own, "conn"):
            own.conn = connect()
            opened.append(own.conn)
        found: psycopg.Connection[Any] = own.conn
        return found

    yield connection
    for conn in opened:
        conn.close()


Opener = Callable[[str, str], Any]


def client(opener: Opener, url: str, node: str, seconds: float, together: Any, counts: Any) -> None:
    """A node in a process of its own."""
    with opener(url, node) as cycle, ThreadPoolExecutor(WORKERS) as pool:

        def worker(_: int) -> int:
            count, until = 0, time.monotonic() + seconds
            while time.monotonic() < until:
                cycle()
                count += 1
            return count

        list(pool.map(lambda _: cycle(), range(WORKERS)))
        together.wait()
        counts.put(sum(pool.map(worker, range(WORKERS))))


def rate(server: PostgresServer, opener: Opener, url: str, nodes: int, seconds: float) -> tuple[float, float]:
    """(cycles a second, the server's processor time for one in ms)."""
    spawn = multiprocessing.get_context("spawn")
    together, counts = spawn.Barrier(nodes + 1), spawn.Queue()
    children = [
        spawn.Process(target=client, args=(opener, url, f"node-{n}", seconds, together, counts)) for n in range(nodes)
    ]
    for child in children:
        child.start()
    together.wait()
    before = server_seconds(server)
    total = sum(counts.get() for _ in children)
    took = server_seconds(server) - before
    for child in children:
        child.join()
    return total / seconds, took / total * 1e3


# ---- parts ----------------------------------------------------------------------------------------------------------


def claims(server: PostgresServer, flags: argparse.Namespace) -> None:
    url, other = server.database(), server.database()
    with hub(url):
        fill(url, flags.waiting)
    systems: dict[str, tuple[Opener, str]] = {"the hub": (hub_node, url), "its statements": (hub_statements, url)}
    if procrastinate_filled(other, flags.waiting):
        systems["procrastinate"] = (procrastinate_node, other)
        systems["and its statements"] = (procrastinate_statements, other)
    print(f"claim + finish a second, {flags.waiting:,} waiting, {flags.rounds} rounds of {flags.seconds:g} s")
    for nodes in (1, 4, 16):
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
        for _ in range(flags.rounds):
            for name, (opener, at) in systems.items():
                with hub_node(at, "origin") if at == url else nullcontext():
                    found[name].append(rate(server, opener, at, nodes, flags.seconds))
        for name, runs in found.items():
            at = systems[name][1]
            rates, costs = zip(*runs, strict=True)
            of_ours = found["its statements" if "statements" in name else "the hub"]
            ratio = statistics.median(ours[0] / each[0] for ours, each in zip(of_ours, runs, strict=True))
            print(
                f"  {nodes:2} nodes × {WORKERS}: {name:18} {statistics.median(rates):6.0f}"
                f"   ({', '.join(f'{each:.0f}' for each in rates)})   server {statistics.median(costs):.2f} ms a cycle"
                + (f"   the hub's is × {ratio:.2f}" if at == other else ""),
                flush=True,
            )
    with psycopg.connect(url, **IN_SCHEMA) as conn:
        row = conn.execute(
            "SELECT count(*) FILTER (WHERE status = 'done'), count(DISTINCT fence) FILTER (WHERE status = 'done'), "
            "count(*) FILTER (WHERE attempt > 1) FROM tasks"
        ).fetchone()
        assert row
        print(f"  ended: {row[0]:,} under {row[1]:,} fences, {row[2]} more than once\n", flush=True)


def procrastinate_filled(url: str, count: int) -> bool:
    """Tell whether procrastinate is there, and let as many of its jobs wait."""
    try:
        from procrastinate import schema  # noqa: PLC0415  for its half only
    except ImportError:
        print(f"procrastinate is not installed in {THEIRS.relative_to(ROOT)}: its lines are left out")
        return False
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(schema.SchemaManager.get_schema().encode())
        conn.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args) "
            "SELECT 'repository ' || n %% 20, 'x', n %% 3, jsonb_build_object('spec', %s::text) "
            "FROM generate_series(1, %s) AS n",
            (encode(SPEC), count),
        )
        conn.execute("VACUUM ANALYZE")
        conn.execute("CHECKPOINT")
    return True


def classes(server: PostgresServer, flags: argparse.Namespace) -> None:
    print(f"claim + finish a second by 4 nodes, {flags.waiting:,} waiting")
    for count, running in ((1, 0), (20, 0), (200, 0), (2000, 0), (20, 4000)):
        url = server.database()
        with hub(url) as connections:
            fill(url, flags.waiting, count)
            if running:
                others(connections, running)
            each, cost = rate(server, hub_node, url, 4, flags.seconds)
        print(f"  {count:5,} classes, {running:5,} run: {each:6.0f}   server {cost:.2f} ms a cycle", flush=True)
    print()


def others(connections: HubConnections, running: int, each: int = WORKERS) -> list[tuple[HubQueue, list[Held]]]:
    """Nodes that have that many tasks in all."""
    found = []
    for number in range(running // each):
        join(connections, Node(id=f"other-{number}", name=f"other-{number}", slots=each))
        queue = HubQueue(connections, f"other-{number}", LEASE_S)
        queue.beat([])
        found.append((queue, [claim.held for claim in queue.claim(each)]))
    return found


def wake(server: PostgresServer, flags: argparse.Namespace) -> None:
    print("from submitting a task to having claimed it on a node that listens, ms")
    url = server.database()
    with hub(url) as submitting, hub(url) as listening, ExitStack() as more:
        for name, connections in (("here", submitting), ("there", listening)):
            join(connections, Node(id=name, name=name, slots=WORKERS))
        here, there = HubQueue(submitting, "here", LEASE_S), HubQueue(listening, "there", LEASE_S)
        there.beat([])
        claimed: SimpleQueue[float] = SimpleQueue()
        over = threading.Event()
        listener = threading.Thread(target=claim_when_told, args=(listening, there, claimed, over))
        listener.start()
        while not server_listeners(url):
            time.sleep(0.01)
        for extra in (0, 16, 48):
            for _ in range(extra):
                more.enter_context(listening.listening())
            took = []
            for _ in range(flags.waking):
                start = time.perf_counter()
                here.submit(SPEC)
                took.append((claimed.get() - start) * 1e3)
            p50, p99 = statistics.median(took), statistics.quantiles(took, n=100)[98]
            print(f"  {len(server_listeners(url)):3} listen: p50 {p50:.1f}   p99 {p99:.1f}", flush=True)
        over.set()
        here.submit(SPEC)
        listener.join()
    print()


def claim_when_told(connections: HubConnections, queue: HubQueue, claimed: Any, over: threading.Event) -> None:
    with connections.listening() as conn:
        for _ in conn.notifies():
            if over.is_set():
                return
            for claim in queue.claim(WORKERS):
                claimed.put(time.perf_counter())
                queue.finish(claim.held, DONE)


def server_listeners(url: str) -> list[Any]:
    with psycopg.connect(url) as conn:
        return conn.execute("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'").fetchall()


def beats(server: PostgresServer, flags: argparse.Namespace) -> None:
    url = server.database()
    with hub(url) as connections:
        fill(url, flags.waiting)
        nodes = others(connections, 1000)
        for queue, held in nodes:  # connections and plans are warm
            queue.beat(held, busy=4)
        idle = measured(server, lambda: time.sleep(flags.beats_s))
        busy = measured(server, lambda: one_after_another(nodes, flags.beats_s))
    print(f"1,000 tasks of {len(nodes)} nodes, renewed every {LEASE_S / 3:g} s, over {flags.beats_s:g} s:")
    print(f"  the server's processes took {busy:.2%} of a core, {idle:.2%} without")
    print(f"  {(busy - idle) * LEASE_S / 3 / len(nodes) * 1e3:.2f} ms a renewal\n", flush=True)


def measured(server: PostgresServer, job: Callable[[], object]) -> float:
    """The server's share of a core meanwhile."""
    start, before = time.monotonic(), server_seconds(server)
    job()
    return (server_seconds(server) - before) / (time.monotonic() - start)


def one_after_another(nodes: list[tuple[HubQueue, list[Held]]], seconds: float) -> None:
    """Each node renews once in a third of a lease, evenly spread."""
    start, rest = time.monotonic(), LEASE_S / 3 / len(nodes)
    for number in range(int(seconds / rest)):
        time.sleep(max(0.0, start + number * rest - time.monotonic()))
        queue, held = nodes[number % len(nodes)]
        queue.beat(held, busy=WORKERS, state="running")


def main() -> None:
    parts = {"claims": claims, "classes": classes, "wake": wake, "beats": beats}
    parser = argparse.ArgumentParser(description="Measure the hub's queue.")
    parser.add_argument("--quick", action="store_true", help="20,000 instead of 200,000 tasks, one round of a second")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of one system's turn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=parts, help="one part")
    parser.add_argument("--server", choices=servers(), default="embedded")
    parser.add_argument("--folder", type=Path, default=ROOT / "state", help="where the server's files are made")
    flags = parser.parse_args()
    flags.waiting, flags.beats_s, flags.waking = WAITING, LEASE_S, 300
    if flags.quick:
        flags.seconds, flags.rounds, flags.waiting, flags.beats_s = 1.0, 1, 20_000, LEASE_S / 6
        flags.waking = 50
    flags.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-hub-", dir=flags.folder) as name:
        flushes(Path(name))
        with PostgresServer(servers()[flags.server], Path(name) / "server", safe=True) as server:
            for part, run in parts.items():
                if flags.only in {None, part}:
                    run(server, flags)


if __name__ == "__main__":
    main()
