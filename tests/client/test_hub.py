"""`nightshift hub` against a real PostgreSQL server: it is made, looked at and steered without a daemon."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from nightshift.client.errors import Exit
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.migrations import steps
from nightshift.remote.hub.nodes import Node, join
from nightshift.remote.hub.queue import HubQueue, Result
from nightshift.remote.hub.signing import NodeKey, signed_text
from tests.support.home import Home
from tests.support.postgres import EMBEDDED, PostgresServer, free_port

EVIL = "\x1b[31mred"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with PostgresServer(EMBEDDED, tmp_path_factory.mktemp("postgres")) as started:
        yield started


@pytest.fixture
def url(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new database that the home's settings name."""
    made = server.database()
    monkeypatch.setenv("HUB_URL", made)
    return made


@pytest.fixture
def connections(home: Home, url: str) -> Iterator[HubConnections]:
    assert home.cli("hub", "init").code == Exit.OK
    made = HubConnections(url)
    yield made
    made.close()


@pytest.fixture
def queue(connections: HubConnections) -> HubQueue:
    """The hub's queue as node a has it, which is up."""
    join(connections, Node(id="1", name="a", labels=("gpu", "linux"), slots=4, url="http://a:5000", version="0.1.0"))
    made = HubQueue(connections, "1")
    made.beat([], busy=1, state="working")
    return made


def failed(queue: HubQueue, reason: str) -> int:
    number = queue.submit(TaskSpec(description="Add a test")).task_id
    (claim,) = queue.claim()
    queue.finish(claim.held, Result(status=Status.FAILED, ending=Ending.ERROR, reason=reason))
    return number


def test_the_schema_is_made_once_and_nodes_are_told_how_to_get_in(home: Home, url: str) -> None:
    made = home.cli("hub", "init")
    assert (made.code, made.out.splitlines()[0]) == (
        Exit.OK, f"the hub's schema was brought from version 0 to {max(steps())}"
    )  # fmt: skip
    assert "GRANT nightshift_node TO my_nodes;" in made.out
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("CREATE ROLE my_nodes LOGIN")
        owner.execute("GRANT nightshift_node TO my_nodes")
    again = home.cli("hub", "init", "--json").json
    assert (again["applied"], again["role"]) == ([], "nightshift_node")
    assert again["pgvector"] is ("CREATE EXTENSION vector" not in made.out)


def test_the_role_that_is_granted_may_steer_and_not_alter(
    home: Home, queue: HubQueue, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("CREATE ROLE guest LOGIN")
        owner.execute("GRANT nightshift_node TO guest")
    queue.submit(TaskSpec(description="Add a test"))
    monkeypatch.setenv("HUB_URL", url.replace("owner@", "guest@"))
    assert home.cli("hub", "status").code == Exit.OK
    assert home.cli("hub", "cancel", "1").out == "task 1 of the hub: cancelled\n"
    refused = home.cli("hub", "init")
    assert (refused.code, "permission denied" in refused.err) == (Exit.FAILED, True)


def test_the_status_tells_nodes_counts_and_failures_and_its_code_the_health(
    home: Home, queue: HubQueue, connections: HubConnections
) -> None:
    failed(queue, f"no test passed {EVIL}")
    queue.submit(TaskSpec(description="Add another"))
    shown = home.cli("hub", "status")
    assert shown.code == Exit.OK
    for words in ("1 of 1 up", "1 of 4 busy", "1 queued, 1 failed", "no test passed"):
        assert words in shown.out
    assert "\x1b" not in shown.out
    assert "owner" not in shown.out
    join(connections, Node(id="2", name="b"))
    lost = home.cli("hub", "status")
    assert (lost.code, "1 of 2 up; lost: b" in lost.out) == (Exit.WAITS, True)
    home.cli("hub", "drain", "b")
    assert home.cli("hub", "status").code == Exit.OK
    assert home.cli("hub", "pause", "until", "Monday").code == Exit.OK
    paused = home.cli("hub", "status")
    assert (paused.code, "until Monday" in paused.out) == (Exit.WAITS, True)
    assert home.cli("hub", "resume").code == Exit.OK
    assert home.cli("hub", "status", "--json").json["paused"] is None


def test_a_hub_whose_nodes_are_all_gone_fails(home: Home, url: str) -> None:
    home.cli("hub", "init")
    assert "0 of 0 up" in home.cli("hub", "status").out
    assert home.cli("hub", "status").code == Exit.FAILED


def test_nodes_are_a_table_and_one_is_drained_and_let_in_again(home: Home, queue: HubQueue) -> None:
    queue.submit(TaskSpec(description="Add a test"))
    queue.claim()
    (row,) = [line for line in home.cli("hub", "nodes").out.splitlines() if line.startswith("a ")]
    assert [word for word in row.split() if word in {"working", "1/4", "0.1.0", "gpu,", "http://a:5000"}] == [
        "working", "1/4", "0.1.0", "gpu,", "http://a:5000"
    ]  # fmt: skip
    assert home.cli("hub", "drain", "a").out == "a takes nothing new; it finishes 1 task\n"
    assert home.cli("hub", "nodes", "--json").json["nodes"][0]["draining"] is True
    assert home.cli("hub", "drain", "a", "--undo").out == "a takes tasks again\n"
    unknown = home.cli("hub", "drain", "c")
    assert (unknown.code, unknown.err) == (Exit.NOT_FOUND, "error: there is no one node c; there are: a\n")


def test_a_node_is_removed_and_let_back(home: Home, queue: HubQueue) -> None:
    queue.submit(TaskSpec(description="x"))
    queue.claim()
    assert home.cli("hub", "remove", "a").out == (
        "a was removed; others get the task that it had\n"
        "its user owner stays: take its rights or its password away where it must not reach the database\n"
    )
    (row,) = [line for line in home.cli("hub", "nodes").out.splitlines() if line.startswith("a ")]
    assert row.split()[1] == "removed"
    told = home.cli("hub", "status")
    assert "0 of 0 up" in told.out
    assert "lost" not in told.out
    assert home.cli("hub", "remove", "a").code == Exit.NOT_FOUND
    assert home.cli("hub", "remove", "a", "--undo").out == "a may come again\n"
    queue.beat([])


def test_two_nodes_of_one_name_are_told_apart_by_their_ids(
    home: Home, queue: HubQueue, connections: HubConnections
) -> None:
    join(connections, Node(id="7f3a", name="a"))
    assert "a (7f3a)" in home.cli("hub", "nodes").out
    assert home.cli("hub", "drain", "a").code == Exit.NOT_FOUND
    assert home.cli("hub", "drain", "7f3a").out == "a takes nothing new\n"


def test_tasks_are_listed_cancelled_retried_and_made_urgent(home: Home, queue: HubQueue) -> None:
    bad = failed(queue, "no")
    good = queue.submit(TaskSpec(description="Add a page\nwith more")).task_id
    assert [row["id"] for row in home.cli("hub", "tasks", "--json").json["tasks"]] == [good, bad]
    assert "Add a page" in home.cli("hub", "tasks", "--status", "queued").out
    assert "Add a page" not in home.cli("hub", "tasks", "--status", "failed").out
    assert home.cli("hub", "retry", str(bad)).out == f"task {bad} of the hub: queued\n"
    assert home.cli("hub", "priority", str(good), "7").out == f"task {good} of the hub: queued, priority 7\n"
    assert home.cli("hub", "priority", f"{good}=-2").code == Exit.OK
    assert queue.get(good).priority == -2
    assert home.cli("hub", "priority", "x").code == Exit.USAGE
    (claim,) = queue.claim()
    assert "asked to cancel it" in home.cli("hub", "cancel", str(claim.held.task_id)).out
    assert home.cli("hub", "retry", str(good)).code == Exit.REFUSED
    assert home.cli("hub", "cancel", "99").code == Exit.NOT_FOUND


def test_results_are_verified_by_the_keys_of_their_nodes(
    home: Home, connections: HubConnections, tmp_path: Path
) -> None:
    key = NodeKey(tmp_path / "key")
    join(connections, Node(id="1", name="a", public_key=key.public, slots=4))
    queue = HubQueue(connections, "1")
    queue.beat([])
    assert home.cli("hub", "verify").out == "no task has ended\n"
    numbers = [queue.submit(TaskSpec(description="x")).task_id for _ in range(3)]
    for claim, commit in zip(queue.claim(2), ("c0ffee", "beef"), strict=True):
        text = signed_text("1", claim.held.task_id, Status.DONE, Ending.COMMITTED, "c0ffee", None)
        queue.finish(
            claim.held, Result(status=Status.DONE, ending=Ending.COMMITTED, commit=commit, signature=key.sign(text))
        )
    queue.cancel(numbers[2])
    told = home.cli("hub", "verify", "--json")
    assert told.code == Exit.FAILED
    assert [(row["task"], row["signed"]) for row in told.json["results"]] == [
        (numbers[2], "unknown"), (numbers[1], "not valid"), (numbers[0], "valid"),
    ]  # fmt: skip
    good, bad = (home.cli("hub", "verify", str(number)) for number in numbers[:2])
    assert (good.code, bad.code) == (Exit.OK, Exit.FAILED)
    assert [word in good.out for word in ("valid", "c0ffee", " a ")] == [True] * 3
    assert "not valid" in bad.out
    assert home.cli("hub", "verify", "99").code == Exit.NOT_FOUND


def test_what_tasks_ask_is_listed_and_answered_for_the_node_that_has_them(home: Home, queue: HubQueue) -> None:
    assert home.cli("hub", "asks").out == "no task asks anything\n"
    number = queue.submit(TaskSpec(description="Add a test")).task_id
    (claim,) = queue.claim()
    queue.wait_for_owner(claim.held, json.dumps([{"id": 5, "kind": "question", "question": f"Which one? {EVIL}"}]))
    shown = home.cli("hub", "asks").out
    assert "Which one?" in shown
    assert "\x1b" not in shown
    assert home.cli("hub", "answer", str(number), "5", "the", "second").code == Exit.OK
    assert home.cli("hub", "answer", str(number), "6", "no").code == Exit.OK
    assert [(one.approval_id, one.granted, one.text) for one in queue.answers()] == [
        (5, True, "the second"),
        (6, False, ""),
    ]
    queue.wait_for_owner(claim.held, "")
    assert home.cli("hub", "answer", str(number), "5", "yes").code == Exit.REFUSED


def test_the_owner_sets_what_holds_for_all_nodes(home: Home, connections: HubConnections) -> None:
    assert "no remote is set" in home.cli("hub", "workspace").out
    assert home.cli("hub", "workspace", "/srv/shared.git").out.endswith("follow /srv/shared.git\n")
    assert home.cli("hub", "budget").out == "all nodes together: no budget\n"
    shown = home.cli("hub", "budget", "--day", "5", "--total-tokens", "2000000").out
    assert shown == "all nodes together: $5.00 a day, 2,000,000 tokens in all\n"
    assert home.cli("hub", "budget", "--off").out == "all nodes together: no budget\n"


def test_without_a_hub_each_says_how_to_name_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HUB_URL", raising=False)
    for words in (("init",), ("status",), ("drain", "a"), ("tasks",), ("pause",)):
        refused = home.cli("hub", *words)
        assert (refused.code, "set HUB_URL" in refused.err) == (Exit.USAGE, True)


def test_a_hub_that_is_away_is_one_sentence_and_code_1(home: Home) -> None:
    refused = home.run("hub", "status", HUB_URL=f"postgresql://me:topsecret@127.0.0.1:{free_port()}/none")
    assert (refused.code, refused.out) == (Exit.FAILED, "")
    assert refused.err.startswith("error: the hub cannot be reached: ")
    assert refused.err.count("\n") == 1
    assert "topsecret" not in refused.err


def test_a_database_without_a_schema_names_the_command_that_makes_it(home: Home, url: str) -> None:
    refused = home.cli("hub", "nodes")
    assert (refused.code, "nightshift hub init" in refused.err) == (Exit.FAILED, True)


def test_missing_packages_are_told_with_the_command_that_brings_them(
    home: Home, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRAS", "off")
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    refused = home.cli("hub", "status")
    assert (refused.code, "pip install -r nightshift/requirements/hub.txt" in refused.err) == (Exit.FAILED, True)


def test_no_line_of_the_help_is_wider_than_a_terminal(home: Home) -> None:
    for words in ((), ("status",), ("drain",), ("tasks",)):
        assert max(map(len, home.run("hub", *words, "--help").out.splitlines())) <= 80


def test_the_settings_file_names_a_hub_as_well(home: Home, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HUB_URL")
    Path(home.path / "config.yaml").write_text(f"hub_url: {url}\n")
    assert home.cli("hub", "init").code == Exit.OK
