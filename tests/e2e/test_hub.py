"""Three real daemons share one hub and one bare repository.

Whatever happens to the nodes, each task ends and lands once.
"""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from nightshift.core.tasks.states import Ending, Status
from nightshift.remote.hub.landing import Landing
from nightshift.remote.hub.nodes import nodes
from nightshift.remote.hub.signing import NodeKey, is_signed, make_signed_text
from nightshift.remote.hub.workflows import Entry
from tests.support import tiers
from tests.support.daemon import git, until
from tests.support.federation import LEASE_S, Federation, federation, task
from tests.support.temporal import needs_server

pytestmark = needs_server


def until_all_ended(fed: Federation, count: int) -> None:
    # The server lists a task some time after it was submitted.
    until(lambda: len(fed.tasks()) == count and not fed.open_tasks(), within_s=900)


def assert_each_landed_once(fed: Federation, count: int) -> None:
    ended = fed.tasks()
    assert len(ended) == count
    assert {(shared.status, shared.ending) for shared in ended} == {(Status.DONE, Ending.COMMITTED)}, [
        (shared.id, shared.status, shared.reason) for shared in ended if shared.status is not Status.DONE
    ]
    assert sorted(fed.landed()) == sorted(f"hub-{shared.id}" for shared in ended)
    keys = {node.id: node.public_key for node in nodes(fed.connection)}
    for shared in ended:
        assert shared.node
        text = make_signed_text(shared.node, shared.id, shared.status, shared.ending, shared.commit, shared.branch)
        assert is_signed(keys[shared.node], text, shared.signature)


def test_three_nodes_share_a_queue_and_the_pages_of_each_tell_how_its_own_tasks_ended(tmp_path: Path) -> None:
    with federation(tmp_path, latency_s=0.3) as fed:
        daemons = [fed.daemon(name) for name in "abc"]
        sent = [(daemon, daemon.submit(**task(number))) for number, daemon in enumerate(daemons * 3, 1)]
        last = daemons[0].submit(**task(90, depends_on=[sent[0][1], sent[3][1]]))
        until_all_ended(fed, 10)
        assert_each_landed_once(fed, 10)
        assert {hub_task.node_name for hub_task in fed.tasks()} == {"a", "b", "c"}
        for daemon, number in [*sent, (daemons[0], last)]:
            until(lambda daemon=daemon, number=number: daemon.get(f"/api/task/{number}")["status"] == "done")  # type: ignore[misc]
        by_origin = {hub_task.origin_task: hub_task for hub_task in fed.tasks() if hub_task.origin_name == "a"}
        places = [fed.landed().index(f"hub-{by_origin[number].id}") for number in (sent[0][1], sent[3][1], last)]
        assert places[2] == max(places)


def test_a_node_that_dies_is_replaced_and_goes_on_alone_when_it_comes_back_in_time(tmp_path: Path) -> None:
    with federation(tmp_path) as fed:
        first = fed.daemon("a", WORKER_COUNT="1", HUB_LEASE_S="60")
        fed.models.fail_next("hang", phase="CODING")
        first.submit(**task(7))
        until(lambda: any(request.phase == "CODING" for request in fed.models.requests))
        first.kill()
        fed.daemon("a", WORKER_COUNT="1", HUB_LEASE_S="60")
        until_all_ended(fed, 1)
        assert [request.phase for request in fed.models.requests].count("PLANNING") == 1
        fed.models.fail_next("hang", phase="CODING")
        first.submit(**task(8))
        until(lambda: [request.phase for request in fed.models.requests].count("CODING") == 3)
        first.kill()
        fed.daemon("b", WORKER_COUNT="1")
        until_all_ended(fed, 2)
        assert_each_landed_once(fed, 2)
        assert [hub_task.node_name for hub_task in sorted(fed.tasks(), key=lambda task: task.id)] == ["a", "b"]
        fed.daemon("a", WORKER_COUNT="1")
        until(lambda: first.get("/api/task/2")["status"] == "done")


def test_many_tasks_end_once_while_nodes_are_killed_and_cut_off_at_random(tmp_path: Path) -> None:
    chance, count, killed, cut_off = random.Random(21), 24 if tiers.ALL else 12, 0, 0
    with federation(tmp_path, latency_s=0.05) as fed:
        daemons = {name: fed.daemon(name) for name in "abc"}
        for number in range(1, count + 1):
            daemons[chance.choice("abc")].submit(**task(number))
        while fed.open_tasks() or len(fed.tasks()) < count:
            time.sleep(chance.uniform(1, 2 * LEASE_S))
            name, away_s = chance.choice("abc"), chance.uniform(0, 2 * LEASE_S)
            if killed > 1 and cut_off > 1 and chance.random() < 0.2:
                fed.server.kill()
                time.sleep(away_s)
                fed.server.start()
            elif killed <= cut_off:
                killed += 1
                daemons[name].kill()
                time.sleep(away_s)
                fed.daemon(name)
            else:
                cut_off += 1
                fed.ways[name].cut()
                time.sleep(away_s)
                fed.ways[name].mend()
        assert_each_landed_once(fed, count)
        assert min(killed, cut_off) >= 1


def test_what_waits_for_the_branch_lands_together(tmp_path: Path) -> None:
    with federation(tmp_path) as fed:
        line, held = "workspace main", Entry(task_id=999, fence=1, node="nobody")
        landing = Landing(fed.connection, "nobody", NodeKey(tmp_path / "key"), lambda _: line, 600.0, print)
        daemons = [fed.daemon(name) for name in "abc"]
        asyncio.run(landing._signal(line, "enter", held))
        for number in range(1, 7):
            daemons[number % 3].submit(**task(number))
        until(lambda: len([entry for entry in asyncio.run(landing.entries(line)) if entry.commit]) == 6, within_s=120)
        asyncio.run(landing._signal(line, "leave", 999, 1))
        until_all_ended(fed, 6)
        assert_each_landed_once(fed, 6)
        log = "".join((daemon.home / "logs" / "agent.log").read_text() for daemon in daemons)
        assert "judged and landed with 5 more" in log
        assert log.count("was landed by another node") == 5
        until(lambda: "agent/" not in git(fed.remote, "branch", "--list"))
