"""`nightshift hub` against real servers: it shows the status and acts without a daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.client.errors import Exit
from nightshift.core.errors import StaleFence
from nightshift.core.tasks.states import Ending, Status
from nightshift.remote.hub.signing import NodeKey, make_signed_text
from tests.support.daemon import until
from tests.support.home import Home
from tests.support.light_node import LightNode, held, light_node
from tests.support.postgres import EMBEDDED, PostgresServer, free_port
from tests.support.temporal import TemporalServer, needs_server

pytestmark = needs_server
EVIL = "\x1b[31mred"


@pytest.fixture(scope="module")
def server() -> Iterator[TemporalServer]:
    with TemporalServer(namespaces=20) as started:
        yield started


@pytest.fixture
def url(server: TemporalServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of an unused namespace, and set `HUB_URL` to this address."""
    address = server.ready()
    monkeypatch.setenv("HUB_URL", address)
    return address


@pytest.fixture
def node(url: str) -> Iterator[LightNode]:
    with light_node(
        url, labels=["gpu", "linux"], url="http://a:5000", version="0.1.0", state="working", busy=1
    ) as new_node:
        yield new_node


def test_the_status_tells_nodes_counts_and_failures_and_its_code_the_health(
    home: Home, node: LightNode, url: str
) -> None:
    node.submit("Add a test")
    node.end(node.take(), Status.FAILED, reason=f"no test passed {EVIL}")
    node.submit("Add another")
    until(lambda: home.cli("hub", "status", "--json").json["counts"] == {"queued": 1, "failed": 1})
    shown = home.cli("hub", "status")
    assert shown.code == Exit.OK
    for words in ("1 of 1 up", "1 of 4 busy", "1 queued, 1 failed", "no test passed"):
        assert words in shown.out
    assert "\x1b" not in shown.out
    with light_node(url, "b", lease_s=1.0, version="0.2.0"):
        assert "different versions: 0.1.0, 0.2.0" in home.cli("hub", "status").out
        until(lambda: home.cli("hub", "status").code == Exit.WAITS)
    assert "1 of 2 up; lost: b" in home.cli("hub", "status").out
    home.cli("hub", "drain", "b")
    assert home.cli("hub", "status").code == Exit.OK
    assert home.cli("hub", "pause", "until", "Monday").code == Exit.OK
    paused = home.cli("hub", "status")
    assert (paused.code, "until Monday" in paused.out) == (Exit.WAITS, True)
    assert home.cli("hub", "resume").code == Exit.OK
    assert home.cli("hub", "status", "--json").json["paused"] is None


def test_a_hub_without_nodes_fails_and_may_be_set_up(home: Home, url: str) -> None:
    assert home.cli("hub", "init").out.endswith("is ready\n")
    assert "0 of 0 up" in home.cli("hub", "status").out
    assert home.cli("hub", "status").code == Exit.FAILED
    assert "no remote is set" in home.cli("hub", "workspace").out
    assert home.cli("hub", "workspace", "/srv/shared.git").out.endswith("follow /srv/shared.git\n")


def test_nodes_are_a_table_and_one_is_drained_removed_and_let_in_again(home: Home, node: LightNode, url: str) -> None:
    node.submit("Add a test")
    taken = node.take()
    node.beat(held=1)
    (row,) = [line for line in home.cli("hub", "nodes").out.splitlines() if line.startswith("a ")]
    assert {"working", "1/4", "0.1.0", "gpu,", "http://a:5000"} <= set(row.split())
    assert home.cli("hub", "drain", "a").out == "a takes no new tasks; it finishes 1 task\n"
    assert home.cli("hub", "nodes", "--json").json["nodes"][0]["draining"] is True
    assert home.cli("hub", "drain", "a", "--undo").out == "a takes tasks again\n"
    assert home.cli("hub", "drain", "c").code == Exit.NOT_FOUND
    until(lambda: [task.id for task in node.queue.find(Status.RUNNING)] == [taken.request.id])
    assert home.cli("hub", "remove", "a").out.startswith("a was removed; others get the task that it had\n")
    assert "removed" in home.cli("hub", "nodes").out
    with pytest.raises(StaleFence):
        node.queue.confirm(held(taken))
    assert home.cli("hub", "remove", "a", "--undo").out == "a may come back\n"
    with light_node(url, "a", id="7f3a"):
        assert "a (7f3a)" in home.cli("hub", "nodes").out
        assert home.cli("hub", "drain", "7f3a").out == "a takes no new tasks\n"


def test_tasks_are_listed_cancelled_retried_and_made_urgent(home: Home, node: LightNode) -> None:
    bad = node.submit("no")
    node.end(node.take(), Status.FAILED)
    good = node.submit("Add a page\nwith more")
    until(lambda: [row["id"] for row in home.cli("hub", "tasks", "--json").json["tasks"]] == [good, bad])
    assert "Add a page" in home.cli("hub", "tasks", "--status", "queued").out
    assert "Add a page" not in home.cli("hub", "tasks", "--status", "failed").out
    assert home.cli("hub", "retry", str(bad)).out == f"task {bad} of the hub: queued\n"
    assert home.cli("hub", "priority", str(good), "70").out == f"task {good} of the hub: queued, priority 70\n"
    assert node.queue.get(good).priority == 70
    assert home.cli("hub", "priority", "x").code == Exit.USAGE
    taken = node.take()
    assert taken.request.id == good
    assert "asked to cancel it" in home.cli("hub", "cancel", str(good)).out
    assert home.cli("hub", "cancel", str(bad)).out == f"task {bad} of the hub: cancelled\n"
    assert home.cli("hub", "retry", str(good)).code == Exit.REFUSED
    assert home.cli("hub", "cancel", "99").code == Exit.NOT_FOUND


def test_results_are_verified_by_the_keys_of_their_nodes(home: Home, url: str, tmp_path: Path) -> None:
    key = NodeKey(tmp_path / "key")
    with light_node(url, public_key=key.public) as node:
        assert home.cli("hub", "verify").out == "no task has ended\n"
        left, numbers = {node.submit("x") for _ in range(3)}, list[int]()
        for commit in ("c0ffee", "beef"):
            taken = node.take()
            text = make_signed_text("a", taken.request.id, Status.DONE, Ending.COMMITTED, "c0ffee", None)
            node.end(taken, commit=commit, signature=key.sign(text))
            numbers.append(taken.request.id)
        (waiting,) = left - set(numbers)
        node.queue.cancel(waiting)
        until(lambda: len(home.cli("hub", "verify", "--json").json["results"]) == 3)
        result = home.cli("hub", "verify", "--json")
        assert result.code == Exit.FAILED
        assert {(row["task"], row["signed"]) for row in result.json["results"]} == {
            (waiting, "unknown"), (numbers[1], "not valid"), (numbers[0], "valid"),
        }  # fmt: skip
        good, bad = (home.cli("hub", "verify", str(number)) for number in numbers)
        assert (good.code, bad.code) == (Exit.OK, Exit.FAILED)
        assert home.cli("hub", "verify", "99").code == Exit.NOT_FOUND


def test_what_tasks_ask_is_listed_and_answered(home: Home, node: LightNode) -> None:
    assert home.cli("hub", "asks").out == "no task has a question\n"
    number = node.submit("Add a test")
    taken = node.take()
    question = {"id": 5, "kind": "question", "question": f"Which one? {EVIL}"}
    node.queue.tell_asks(held(taken), json.dumps([question]))
    until(lambda: "Which one?" in home.cli("hub", "asks").out)
    assert "\x1b" not in home.cli("hub", "asks").out
    assert home.cli("hub", "answer", str(number), "5", "the", "second").code == Exit.OK
    assert home.cli("hub", "answer", str(number), "6", "no").code == Exit.OK
    replies = node.queue.look([number])[number].replies
    assert [(reply.approval_id, reply.granted, reply.text) for reply in replies] == [
        (5, True, "the second"),
        (6, False, ""),
    ]
    node.queue.tell_asks(held(taken), "")
    until(lambda: node.queue.get(number).status is Status.RUNNING)
    assert home.cli("hub", "answer", str(number), "5", "yes").code == Exit.REFUSED


def test_a_budget_takes_a_database(home: Home, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert home.cli("hub", "budget").code == Exit.USAGE
    with PostgresServer(EMBEDDED, tmp_path / "postgres") as postgres:
        monkeypatch.setenv("HUB_DATABASE_URL", postgres.database())
        assert "GRANT nightshift_node TO my_nodes;" in home.cli("hub", "init").out
        assert home.cli("hub", "init", "--json").json["database_made"] is False
        assert home.cli("hub", "budget").out == "all nodes together: no budget\n"
        shown = home.cli("hub", "budget", "--day", "5", "--total-tokens", "2000000").out
        assert shown == "all nodes together: $5.00 a day, 2,000,000 tokens in all\n"
        assert home.cli("hub", "budget", "--off").out == "all nodes together: no budget\n"


def test_an_old_address_says_how_to_end_what_is_there(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUB_URL", "postgresql://me:topsecret@127.0.0.1/hub")
    refused = home.cli("hub", "status")
    assert (refused.code, "end its open tasks with that version first" in refused.err) == (Exit.USAGE, True)
    assert "topsecret" not in refused.err


def test_a_hub_that_is_away_or_lacks_the_namespace_is_one_sentence_and_code_1(
    home: Home, server: TemporalServer
) -> None:
    away = home.run("hub", "status", HUB_URL=f"temporal://127.0.0.1:{free_port()}/default")
    lacking = home.run("hub", "status", HUB_URL=server.address("nowhere"))
    for refused, words in ((away, "the hub cannot be reached: "), (lacking, "has no namespace nowhere")):
        assert (refused.code, refused.out, refused.err.count("\n")) == (Exit.FAILED, "", 1)
        assert words in refused.err
