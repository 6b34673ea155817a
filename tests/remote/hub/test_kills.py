"""Nodes and the server die at any moment, answers are lost: each task still ends once, under the fence that it had."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from nightshift.core.errors import HubAway, StaleFence
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import Node, join
from nightshift.remote.hub.queue import Claim, Held, HubQueue, Result
from tests.support import tiers
from tests.support.hub_client import NEVER, result
from tests.support.hub_model import moves_told
from tests.support.postgres import EMBEDDED, PostgresServer, hub, until_back

STATEMENTS = 22
"""How many statements the script of `tests.support.hub_client` has."""


def client(*words: object, log: Path | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.hub_client", *map(str, words)]
    with (log or Path("/dev/null")).open("a") as out:
        return subprocess.Popen(command, cwd=tiers.ROOT, stdout=out if log else subprocess.PIPE, text=True)


def address(connections: HubConnections, server: PostgresServer) -> str:
    row = connections.row("SELECT current_database() AS name")
    assert row
    return server.url(row["name"])


def some_tasks(queue: HubQueue, count: int) -> None:
    """The second of every three depends on the first."""
    for number in range(count):
        needed = (number,) if number % 3 == 1 else ()  # the id of the one before
        queue.submit(TaskSpec(description="x", depends_on=needed, priority=number % 2))


def a_node(connections: HubConnections, name: str, lease_s: float = 60.0) -> HubQueue:
    join(connections, Node(id=name, name=name, slots=4))
    queue = HubQueue(connections, name, lease_s)
    queue.beat([])
    return queue


def leases_are_over(connections: HubConnections, node: str) -> None:
    with connections.connection() as conn:
        conn.execute("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 s' WHERE id = %s", (node,))
        conn.execute("UPDATE tasks SET claimed_at = claimed_at - interval '1 h' WHERE node = %s", (node,))


def work_off(queue: HubQueue) -> None:
    """Do what is left."""
    queue.beat([])
    queue.sweep(NEVER)
    while claims := queue.claim(3):
        for claim in claims:
            queue.finish(claim.held, result(queue.node, claim.held.fence))


def assert_each_ended_once(connections: HubConnections, count: int) -> None:
    rows = connections.rows(
        "SELECT t.*, (SELECT count(*) FROM events e WHERE e.task = t.id AND e.became = 'done') AS ends, "
        "(SELECT count(*) FROM events e WHERE e.task = t.id AND e.became = 'running' AND e.was = 'queued') AS claims, "
        "(SELECT count(*) FROM checkpoints k WHERE k.task = t.id) AS kept FROM tasks t ORDER BY id"
    )
    assert [row["id"] for row in rows] == list(range(1, count + 1))
    assert set(moves_told(connections.rows("SELECT * FROM events ORDER BY id")).values()) == {"done"}
    for row in rows:
        assert (row["status"], row["ends"], row["kept"]) == ("done", 1, 0), row
        assert row["commit_id"] == f"{row['node']}:{row['fence']}"
        assert row["attempt"] == row["claims"]
    assert len({row["fence"] for row in rows}) == count


def killed_at(url: str, at: int) -> str:
    """Kill a node where it stops in its script, and return what it said there."""
    with client("script", url, "dying", at) as dying:
        assert dying.stdout
        said = dying.stdout.readline().strip()
        dying.kill()
    return said


@pytest.mark.parametrize("at", tiers.choose(range(1, STATEMENTS + 2), 6))
def test_a_node_dies_between_two_statements(connections: HubConnections, server: PostgresServer, at: int) -> None:
    survivor = a_node(connections, "survivor")
    some_tasks(survivor, 4)
    said = killed_at(address(connections, server), at)
    assert said == (f"at {at}" if at <= STATEMENTS else "over")
    leases_are_over(connections, "dying")
    work_off(survivor)
    assert_each_ended_once(connections, 4)


def test_a_node_that_starts_again_gives_back_what_it_had_and_forgot(
    connections: HubConnections, server: PostgresServer
) -> None:
    again = a_node(connections, "dying")
    some_tasks(again, 4)
    assert killed_at(address(connections, server), 5) == "at 5"
    again.beat([])
    assert again.get(2 if again.get(2).status is Status.RUNNING else 4).status is Status.RUNNING  # it was just claimed
    leases_are_over(connections, "dying")
    work_off(again)
    assert_each_ended_once(connections, 4)


@contextmanager
def workers(url: str, folder: Path, count: int, lease_s: float) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Nodes that work until the end of the block; whoever is killed may be replaced in the dictionary."""
    found = {name: client("work", url, name, lease_s, log=folder / name) for name in (f"w{n}" for n in range(count))}
    try:
        yield found
    finally:
        for process in found.values():
            process.kill()
            process.wait()


def assert_what_was_told_holds(connections: HubConnections, folder: Path, nodes: Mapping[str, object]) -> None:
    """Nobody was told that it had finished what the hub has from another."""
    fences = {row["id"]: (row["node"], row["fence"]) for row in connections.rows("SELECT * FROM tasks")}
    told = 0
    for node in nodes:
        for line in (folder / node).read_text().splitlines():
            word, task, fence = line.split()
            assert word == "finished"
            assert fences[int(task)] == (node, int(fence))
            told += 1
    assert told


def until_done(connections: HubConnections, count: int) -> None:
    """Wait until that many have ended."""
    while True:
        with suppress(HubAway):
            row = connections.row("SELECT count(*) AS done FROM tasks WHERE status = 'done'")
            if row and row["done"] >= count:
                return
        time.sleep(0.02)


def test_nodes_are_killed_at_random_while_they_work(
    connections: HubConnections, server: PostgresServer, tmp_path: Path
) -> None:
    count, url, draw = 400, address(connections, server), random.Random(21)
    some_tasks(a_node(connections, "owner"), count)
    with workers(url, tmp_path, 3, 1.0) as running:
        for done in sorted(draw.sample(range(1, count - 50), 12)):
            until_done(connections, done)
            name = draw.choice(sorted(running))
            running[name].kill()
            running[name].wait()
            running[name] = client("work", url, name, 1.0, log=tmp_path / name)
        until_done(connections, count)
    assert_each_ended_once(connections, count)
    assert_what_was_told_holds(connections, tmp_path, running)


def test_the_server_is_killed_while_nodes_work(tmp_path: Path) -> None:
    count, draw = 300, random.Random(21)
    with PostgresServer(EMBEDDED, tmp_path / "server", safe=True) as server, hub(server.database()) as connections:
        some_tasks(a_node(connections, "owner"), count)
        with workers(address(connections, server), tmp_path, 3, 3.0) as running:
            for done in sorted(draw.sample(range(1, count - 50), 3)):
                until_done(connections, done)
                server.kill()
                server.start()
                until_back(connections)
            until_done(connections, count)
        assert_each_ended_once(connections, count)
        assert_what_was_told_holds(connections, tmp_path, running)


class SwallowingProxy:
    """A way to the server that loses the answer to a statement and is then cut.

    Args:
        port: the server's.
        statement: text of the statement whose answer is lost, once; by then the server has done it.
    """

    def __init__(self, port: int, statement: str) -> None:
        self._port, self._statement = port, statement.encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.swallowed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._port))
                cut = threading.Event()
                threading.Thread(target=self._pass, args=(near, far, cut, True), daemon=True).start()
                threading.Thread(target=self._pass, args=(far, near, cut, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, cut: threading.Event, asks: bool) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if asks and self._statement in data and not self.swallowed.is_set():
                    cut.set()
                if not asks and cut.is_set():
                    self.swallowed.set()
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def deaf_node(connections: HubConnections, server: PostgresServer, statement: str) -> Iterator[HubQueue]:
    """A node that does not get the first answer to that statement."""
    proxy = SwallowingProxy(server.port, statement)
    deaf = HubConnections(address(connections, server).replace(f":{server.port}/", f":{proxy.port}/"))
    try:
        yield a_node(deaf, "deaf")
        assert proxy.swallowed.is_set()
    finally:
        deaf.close()
        proxy.close()


def a_claim(queue: HubQueue) -> Claim:
    queue.submit(TaskSpec(description="x"))
    (claim,) = queue.claim()
    return claim


def events(connections: HubConnections) -> list[str]:
    return [row["became"] for row in connections.rows("SELECT became FROM events ORDER BY id")]


def test_an_end_whose_answer_was_lost_is_told_again_and_counts_once(
    connections: HubConnections, server: PostgresServer
) -> None:
    with deaf_node(connections, server, "finish(") as queue:
        held = a_claim(queue).held
        with pytest.raises(HubAway):
            queue.finish(held, result("deaf", held.fence))
        assert queue.get(held.task_id).status is Status.DONE
        queue.finish(held, result("deaf", held.fence))
        with pytest.raises(StaleFence):
            queue.finish(held, Result(status=Status.FAILED, ending=Ending.GAVE_UP))
        assert events(connections) == ["queued", "running", "done"]


def test_what_was_given_back_without_an_answer_is_given_back_once(
    connections: HubConnections, server: PostgresServer
) -> None:
    other = a_node(connections, "other")
    with deaf_node(connections, server, "put_back(") as queue:
        held = a_claim(queue).held
        with pytest.raises(HubAway):
            queue.put_back(held, "not now")
        queue.put_back(held, "not now")
        assert events(connections) == ["queued", "running", "queued"]
        (theirs,) = other.claim()
        with pytest.raises(StaleFence):
            queue.put_back(held, "not now")
        assert other.beat([theirs.held])[0].lost == frozenset()
        other.finish(theirs.held, result("other", theirs.held.fence))
        assert_each_ended_once(connections, 1)


def test_a_claim_whose_answer_was_lost_is_given_back_by_the_next_beat_after_a_lease(
    connections: HubConnections, server: PostgresServer
) -> None:
    with deaf_node(connections, server, "FROM claim(") as queue:
        queue.submit(TaskSpec(description="x"))
        with pytest.raises(HubAway):
            queue.claim()
        assert queue.get(1).status is Status.RUNNING
        queue.beat([])
        assert queue.get(1).status is Status.RUNNING  # the claim may be on its way
        leases_are_over(connections, "deaf")
        queue.beat([])
        (claim,) = queue.claim()
        assert claim.held == Held(task_id=1, fence=2)
        queue.finish(claim.held, result("deaf", 2))
        assert_each_ended_once(connections, 1)


def test_a_task_with_a_key_whose_answer_was_lost_is_made_once(
    connections: HubConnections, server: PostgresServer
) -> None:
    with deaf_node(connections, server, "FROM submit(") as queue:
        spec = TaskSpec(description="x", key="k")
        with pytest.raises(HubAway):
            queue.submit(spec)
        again = queue.submit(spec)
        assert (again.task_id, again.created) == (1, False)
        assert len(queue.find()) == 1


def test_a_node_is_told_of_its_first_unread_message_and_again_once_it_has_read(connections: HubConnections) -> None:
    queue, worker = a_node(connections, "owner"), a_node(connections, "worker")
    some_tasks(queue, 6)
    with connections.listening() as listening:
        for expected in (1, 0, 1):
            if expected:
                queue.read_news([number for number, _ in queue.news()])
            for claim in worker.claim():
                worker.finish(claim.held, result("worker", claim.held.fence))
            told = [notice.payload for notice in listening.notifies(timeout=0.2)]
            assert told.count("owner") == expected
    assert len(queue.news()) == 1
