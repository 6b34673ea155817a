"""The hub over the API, with a real Temporal server.

The hub is viewed and controlled, is unreachable, or is not configured.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from nightshift.app.hub_client import AT_ONCE, HubClient
from nightshift.core.errors import HubAway
from nightshift.core.hub import OwnNode
from nightshift.core.tasks.states import Status
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.nodes import nodes, remove
from nightshift.server.context import AppContext
from nightshift.server.routes.hub import linkable
from tests.support.app_context import Client, serving
from tests.support.daemon import until
from tests.support.light_node import LightNode, light_node
from tests.support.postgres import free_port
from tests.support.temporal import TemporalServer, needs_server

OWN = OwnNode(id="1", name="a", ui="http://hub:8233/namespaces/default/workflows")
NOWHERE = "temporal://127.0.0.1:1/none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A server whose own node `a` is up, beside a lost node `b`, whose address must not become a link."""

    client: Client
    node: LightNode


@pytest.fixture(scope="module")
def server() -> Iterator[TemporalServer]:
    with TemporalServer(namespaces=10) as started:
        yield started


@pytest.fixture
def rig(context: AppContext, server: TemporalServer) -> Iterator[Rig]:
    url = server.ready()
    with light_node(url, "b", url="javascript:alert(1)//http://b", lease_s=0.5):
        pass
    there = {"labels": ["gpu"], "url": "http://a:5000/", "version": "0.1.0", "busy": 1, "state": "working"}
    with light_node(url, "a", id="1", **there) as node:
        client = HubClient(url, lambda: OWN)
        with serving(replace(context, hub=client)) as served:
            until(lambda: [hub_node.is_up for hub_node in nodes(node.connection)] == [True, False])
            yield Rig(client=served, node=node)
        client.close()


@needs_server
def test_nodes_counts_and_the_pause_are_told(rig: Rig) -> None:
    rig.node.submit("Add a test")
    rig.client.post("/api/hub/pause", {"reason": "until Monday"})
    until(lambda: rig.client.get("/api/hub").json["counts"] == {"queued": 1})
    hub_state = rig.client.get("/api/hub").json
    assert (hub_state["own"], hub_state["ui"]) == ({"id": "1", "name": "a"}, OWN.ui)
    assert (hub_state["reachable"], hub_state["paused"]) == (True, "until Monday")
    up, lost = hub_state["nodes"]
    assert (up["state"], up["says"], up["busy"], up["slots"], up["url"]) == ("up", "working", 1, 4, "http://a:5000")
    assert (lost["state"], lost["url"]) == ("lost", "")
    remove(rig.node.connection, "b")
    assert [row["state"] for row in rig.client.get("/api/hub").json["nodes"]] == ["up", "removed"]


@needs_server
def test_tasks_come_in_pages_by_status_with_links_to_the_pages_of_their_nodes(rig: Rig) -> None:
    numbers = [rig.node.submit(f"Task {n}", origin_task=n + 10) for n in range(5)]
    taken = rig.node.take(77)
    until(lambda: len(rig.client.get("/api/hub/tasks?status=running").json["tasks"]) == 1)
    until(lambda: len(rig.client.get("/api/hub/tasks").json["tasks"]) == 5)
    first = rig.client.get("/api/hub/tasks?limit=3").json
    rest = rig.client.get(f"/api/hub/tasks?limit=3&after={first['next_after']}").json
    assert sorted(row["id"] for row in first["tasks"] + rest["tasks"]) == numbers
    assert (len(rest["tasks"]), rest["next_after"]) == (2, None)
    (running,) = rig.client.get("/api/hub/tasks?status=running").json["tasks"]
    origin = taken.request.origin_task
    assert (running["node_page"], running["origin_page"]) == ("http://a:5000/task/77", f"http://a:5000/task/{origin}")
    assert running["node_name"] == "a"
    assert rig.client.get("/api/hub/tasks?status=nonsense").status == 400


@needs_server
def test_tasks_are_cancelled_retried_and_made_urgent_and_tell_how_they_ended(rig: Rig) -> None:
    number = rig.node.submit("Add a test")
    path = f"/api/hub/tasks/{number}"
    assert rig.client.post(f"{path}/priority", {"priority": 9}).json == {"id": number, "status": "queued"}
    assert rig.node.queue.get(number).priority == 9
    assert rig.client.post(f"{path}/cancel").json["status"] == "cancelled"
    assert rig.client.post(f"{path}/cancel").status == 409
    assert rig.client.post(f"{path}/retry").json["status"] == "queued"
    assert rig.client.post("/api/hub/tasks/99/retry").status == 404
    rig.node.end(rig.node.take(), Status.FAILED, reason="no test passed")
    until(lambda: len(rig.client.get("/api/hub/tasks?status=failed").json["tasks"]) == 1)
    (row,) = rig.client.get("/api/hub/tasks?status=failed").json["tasks"]
    assert (row["ending"], row["reason"], row["spent"]["model_calls"]) == ("error", "no test passed", 0)


@needs_server
def test_the_hub_is_paused_and_resumed_and_a_node_drained_and_let_in(rig: Rig) -> None:
    assert rig.client.post("/api/hub/pause", {"reason": "backup"}).json == {"paused": "backup"}
    assert rig.client.post("/api/hub/resume").json == {"paused": None}
    assert rig.client.get("/api/hub").json["paused"] is None
    assert rig.client.request("POST", "/api/hub/nodes/1/drain").json == {"id": "1", "name": "a", "draining": True}
    assert rig.client.get("/api/hub").json["nodes"][0]["state"] == "draining"
    assert rig.client.post("/api/hub/nodes/a/drain", {"draining": False}).json["draining"] is False
    assert rig.client.post("/api/hub/nodes/c/drain", {}).status == 404


def test_without_a_hub_it_is_not_found_and_says_why(client: Client) -> None:
    for got in (client.get("/api/hub"), client.get("/api/hub/tasks"), client.request("POST", "/api/hub/pause")):
        assert (got.status, "HUB_URL" in got.json["error"]) == (404, True)


def test_a_hub_that_is_away_is_told_and_no_thread_waits_for_it_again(context: AppContext) -> None:
    away = HubClient(f"temporal://127.0.0.1:{free_port()}/none", lambda: OWN)
    with serving(replace(context, hub=away)) as client:
        answer = client.get("/api/hub").json
        assert (answer["reachable"], answer["nodes"], answer["counts"]) == (False, [], {})
        assert "cannot be reached" in answer["reason"]
        begun = time.monotonic()
        refused = [
            client.get("/api/hub/tasks"),
            client.post("/api/hub/tasks/1/cancel"),
            client.request("POST", "/api/hub/pause"),
        ]
        took_s = time.monotonic() - begun
    away.close()
    assert [(got.status, got.headers["Retry-After"]) for got in refused] == [(503, "5")] * 3
    assert took_s < 5, "less than one wait for a connection"


def test_a_hub_that_hangs_is_away_after_a_while_and_others_are_told_at_once() -> None:
    client = HubClient(NOWHERE, lambda: OWN, away_s=600, answer_s=0.2)
    go_on, ended = threading.Event(), threading.Event()

    def question(_: HubConnection) -> None:
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


@pytest.mark.parametrize(
    ("given", "linked"),
    [
        ("https://a.example/base/", "https://a.example/base"),
        ("", ""),
        ("javascript:alert(1)", ""),
        ("//a.example", ""),
        ("http://[", ""),
        ("http://a\n.example", ""),
        ("https://me@evil.example", ""),
    ],
)
def test_only_web_addresses_are_linked(given: str, linked: str) -> None:
    assert linkable(given) == linked
