"""The hub over the API, with a real PostgreSQL server: seen and steered, away, and not there at all."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest

from nightshift.app.hub_client import AT_ONCE, HubClient
from nightshift.core.errors import HubAway
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import Node, join, remove
from nightshift.remote.hub.queue import HubQueue, Result
from nightshift.server.context import AppContext
from nightshift.server.hub_answers import linkable
from nightshift.server.hub_port import OwnNode
from tests.support.app_context import Client, Got, serving
from tests.support.daemon import until
from tests.support.postgres import EMBEDDED, PostgresServer, free_port, hub

OWN = OwnNode(id="1", name="a")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A server whose node is a, which is up; b was lost, and c is called by a name that is no address."""

    client: Client
    connections: HubConnections
    queue: HubQueue


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with PostgresServer(EMBEDDED, tmp_path_factory.mktemp("postgres")) as started:
        yield started


@pytest.fixture
def rig(context: AppContext, server: PostgresServer) -> Iterator[Rig]:
    url = server.ready()
    with hub(url) as connections:
        join(connections, Node(id="1", name="a", labels=("gpu",), slots=4, url="http://a:5000/", version="0.1.0"))
        join(connections, Node(id="2", name="b", url="javascript:alert(1)//http://b"))
        queue = HubQueue(connections, "1")
        queue.beat([], busy=1, state="working")
        client = HubClient(url, lambda: OWN)
        with serving(replace(context, hub=client)) as served:
            yield Rig(client=served, connections=connections, queue=queue)
        client.close()


def test_nodes_counts_and_the_pause_are_told(rig: Rig) -> None:
    rig.queue.submit(TaskSpec(description="Add a test"))
    rig.queue.pause("until Monday")
    told = rig.client.get("/api/hub").json
    assert told["own"] == {"id": "1", "name": "a"}
    assert (told["reachable"], told["paused"], told["counts"]) == (True, "until Monday", {"queued": 1})
    up, lost = told["nodes"]
    assert (up["state"], up["says"], up["busy"], up["slots"], up["url"]) == ("up", "working", 1, 4, "http://a:5000")
    assert (lost["state"], lost["url"]) == ("lost", "")
    remove(rig.connections, "b")
    assert [one["state"] for one in rig.client.get("/api/hub").json["nodes"]] == ["up", "removed"]


def test_tasks_come_in_pages_by_status_with_links_to_the_pages_of_their_nodes(rig: Rig) -> None:
    numbers = [rig.queue.submit(TaskSpec(description=f"Task {n}"), origin_task=n + 10).task_id for n in range(5)]
    (claim,) = rig.queue.claim()
    rig.queue.adopted(claim.held, 77)
    first = rig.client.get("/api/hub/tasks?limit=3").json
    assert [one["id"] for one in first["tasks"]] == numbers[:-4:-1]
    rest = rig.client.get(f"/api/hub/tasks?limit=3&after={first['next_after']}").json
    assert ([one["id"] for one in rest["tasks"]], rest["next_after"]) == (numbers[1::-1], None)
    (running,) = rig.client.get("/api/hub/tasks?status=running").json["tasks"]
    assert (running["node_page"], running["origin_page"]) == ("http://a:5000/task/77", "http://a:5000/task/10")
    assert running["node_name"] == "a"
    assert rig.client.get("/api/hub/tasks?status=nonsense").status == 400


def test_tasks_are_cancelled_retried_and_made_urgent(rig: Rig) -> None:
    number = rig.queue.submit(TaskSpec(description="Add a test")).task_id
    one = f"/api/hub/tasks/{number}"
    assert rig.client.post(f"{one}/priority", {"priority": 9}).json == {"id": number, "status": "queued"}
    assert rig.queue.get(number).priority == 9
    assert rig.client.post(f"{one}/cancel").json["status"] == "cancelled"
    assert rig.client.post(f"{one}/cancel").status == 409
    assert rig.client.post(f"{one}/retry").json["status"] == "queued"
    assert rig.client.post("/api/hub/tasks/99/retry").status == 404


def test_the_hub_is_paused_and_resumed_and_a_node_drained_and_let_in(rig: Rig) -> None:
    assert rig.client.post("/api/hub/pause", {"reason": "backup"}).json == {"paused": "backup"}
    assert rig.queue.paused() == "backup"
    assert rig.client.post("/api/hub/resume").json == {"paused": None}
    assert rig.queue.paused() is None
    assert rig.client.request("POST", "/api/hub/nodes/1/drain").json == {"id": "1", "name": "a", "draining": True}
    assert rig.client.get("/api/hub").json["nodes"][0]["state"] == "draining"
    assert rig.client.post("/api/hub/nodes/a/drain", {"draining": False}).json["draining"] is False
    assert rig.client.post("/api/hub/nodes/c/drain", {}).status == 404


def test_without_a_hub_it_is_not_found_and_says_why(client: Client) -> None:
    for got in (client.get("/api/hub"), client.get("/api/hub/tasks"), client.request("POST", "/api/hub/pause")):
        assert (got.status, "HUB_URL" in got.json["error"]) == (404, True)


def test_a_hub_that_is_away_is_told_and_no_thread_waits_for_it_again(context: AppContext) -> None:
    away = HubClient(f"postgresql://me:topsecret@127.0.0.1:{free_port()}/none", lambda: OWN)
    with serving(replace(context, hub=away)) as client:
        told = client.get("/api/hub").json
        assert (told["reachable"], told["nodes"], told["counts"]) == (False, [], {})
        assert "cannot be reached" in told["reason"]
        begun = time.monotonic()
        refused = [
            client.get("/api/hub/tasks"),
            client.post("/api/hub/tasks/1/cancel"),
            client.request("POST", "/api/hub/pause"),
        ]
        took_s = time.monotonic() - begun
    away.close()
    assert [(got.status, got.headers["Retry-After"]) for got in refused] == [(503, "5")] * 3
    assert "topsecret" not in f"{told}{[got.json for got in refused]}"
    assert took_s < 5, "less than one wait for a connection"


def test_of_many_who_ask_a_hub_that_was_away_one_alone_tries_again() -> None:
    tried = []

    def question(_: HubConnections) -> None:
        tried.append(1)
        time.sleep(0.2)
        raise HubAway("gone")

    client = HubClient("postgresql://nobody@127.0.0.1:1/none", lambda: OWN, away_s=0.5)

    def ask(_: int) -> bool:
        with pytest.raises(HubAway):
            client.ask(question)
        return True

    ask(0)
    time.sleep(0.6)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert len(tried) == 2
    client.close()


def test_few_threads_wait_for_a_hub_that_is_slow_and_the_next_is_told_so() -> None:
    client, go_on = HubClient("postgresql://nobody@127.0.0.1:1/none", lambda: OWN), threading.Event()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = [pool.submit(client.ask, lambda _: go_on.wait(60)) for _ in range(AT_ONCE)]
        with pytest.raises(HubAway, match="slow to answer"):
            client.ask(lambda _: None)
        go_on.set()
        assert all(one.result() for one in waiting)
    client.ask(lambda _: None)
    client.close()


def test_a_hub_that_hangs_is_away_after_a_while_and_others_are_told_at_once() -> None:
    client = HubClient("postgresql://nobody@127.0.0.1:1/none", lambda: OWN, away_s=600, answer_s=0.2)
    go_on, ended = threading.Event(), threading.Event()

    def question(_: HubConnections) -> None:
        go_on.wait(60)
        ended.set()

    for _ in range(AT_ONCE + 2):
        with pytest.raises(HubAway, match="has not answered"):
            client.ask(question)
    go_on.set()
    assert ended.wait(60)
    until(lambda: client_answers(client))
    client.close()


def client_answers(client: HubClient) -> bool:
    try:
        return client.ask(lambda _: True)
    except HubAway:
        return False


def test_missing_packages_are_told_with_the_command_that_brings_them(
    context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    bare = HubClient("postgresql://nobody@127.0.0.1:1/none", lambda: OWN)
    with serving(replace(context, hub=bare)) as client:
        refused = client.get("/api/hub")
    assert (refused.status, "pip install -r nightshift/requirements/hub.txt" in refused.json["error"]) == (409, True)


def test_a_hub_that_is_back_is_asked_again(rig: Rig, server: PostgresServer) -> None:
    server.stop()
    told: Got = rig.client.get("/api/hub")
    assert told.json["reachable"] is False
    server.start()
    while not rig.client.get("/api/hub").json["reachable"]:
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("given", "linked"),
    [
        ("http://a:5000", "http://a:5000"),
        ("https://a.example/base/", "https://a.example/base"),
        ("", ""),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("//a.example", ""),
        ("http://", ""),
        ("http://[", ""),
        ("http://a b", ""),
        ("http://a\n.example", ""),
        ("https://me@evil.example", ""),
    ],
)
def test_only_web_addresses_are_linked(given: str, linked: str) -> None:
    assert linkable(given) == linked


def test_a_failed_task_tells_how_it_ended(rig: Rig) -> None:
    rig.queue.submit(TaskSpec(description="Add a test"))
    (claim,) = rig.queue.claim()
    rig.queue.finish(claim.held, Result(status=Status.FAILED, ending=Ending.ERROR, reason="no test passed"))
    (row,) = rig.client.get("/api/hub/tasks").json["tasks"]
    assert (row["ending"], row["reason"], row["spent"]["model_calls"]) == ("error", "no test passed", 0)
