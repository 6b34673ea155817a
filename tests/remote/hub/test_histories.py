"""Workflows that earlier versions started continue under today's code: recorded histories are replayed.

`python -m tests.remote.hub.test_histories` records new histories. An old history is kept as long as workflows of its
version may run.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from nightshift.core.tasks.states import Status
from nightshift.remote.hub import control, nodes
from nightshift.remote.hub.landing import Landing
from nightshift.remote.hub.signing import NodeKey
from nightshift.remote.hub.workflows import ALL, Entry
from tests.support.daemon import until
from tests.support.light_node import held, light_node
from tests.support.temporal import TemporalServer

HISTORIES = Path(__file__).with_name("histories")


@pytest.mark.parametrize("file", sorted(HISTORIES.glob("*.json")), ids=lambda file: file.stem)
def test_a_recorded_history_is_replayed(file: Path) -> None:
    history = WorkflowHistory.from_json(file.stem, file.read_text())
    asyncio.run(Replayer(workflows=ALL).replay_workflow(history))


def record(folder: Path) -> None:
    """Run each workflow through all its operations, and write its history."""
    with TemporalServer(namespaces=1) as server, light_node(server.ready()) as node:
        first = node.submit("first", needs=["gpu"])
        second = node.submit("second", depends_on=[first])
        node.queue.cancel(first)
        until(lambda: node.queue.get(second).status is Status.FAILED)
        third = node.submit("third")
        node.queue.prioritise(third, 20)
        node.queue.revise(node.queue.request(third))
        taken = node.take()
        node.queue.tell_asks(held(taken), "[]")
        until(lambda: node.queue.get(third).status is Status.WAITING)
        node.queue.answer(third, 1, granted=True)
        node.queue.read_replies(third, [1])
        node.queue.tell_asks(held(taken), "")
        node.end(taken)
        control.pause(node.connection, "x")
        nodes.drain(node.connection, "a", draining=True)
        node.beat()
        landing = Landing(node.connection, "a", NodeKey(folder / "key"), lambda _: "line", 60, print)
        asyncio.run(_land(landing))
        ids = {"task-blocked": f"task-{second}", "task-done": f"task-{third}", "node": "node-a", "control": "control",
               "landing": landing_id(landing)}  # fmt: skip
        for name, workflow in ids.items():

            async def fetch(client: Client, workflow: str = workflow) -> str:
                history = await client.get_workflow_handle(workflow).fetch_history()
                return re.sub(r"\d+@[\w.-]+", "1@node", json.dumps(json.loads(history.to_json())))

            (folder / f"{name}.json").write_text(node.connection.call(fetch) + "\n")
    (folder / "key").unlink()


async def _land(landing: Landing) -> None:
    await landing._signal("line", "enter", Entry(task_id=1, fence=1, node="a"))
    await landing._signal("line", "enter", Entry(task_id=2, fence=1, node="a", commit="c0ffee"))
    await landing._signal("line", "renew", 1, 1)
    await landing.end("line", {2: "feed"})
    for number in (1, 2):
        await landing._signal("line", "leave", number, 1)
    while await landing.entries("line"):  # noqa: ASYNC110  another process tells no event of this loop
        await asyncio.sleep(0.05)


def landing_id(_: Landing) -> str:
    from nightshift.remote.hub.landing import _workflow

    return _workflow("line")


if __name__ == "__main__":
    HISTORIES.mkdir(exist_ok=True)
    record(HISTORIES)
