"""A node lands the offers of another one: only what the node that has the task signed."""

from __future__ import annotations

from pathlib import Path

from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.landing import Landing
from nightshift.remote.hub.nodes import Node, join
from nightshift.remote.hub.queue import HubQueue
from nightshift.remote.hub.signing import NodeKey, offered_text

LINE = "line"


class Lander:
    """A node with one task, and its way to the branch."""

    def __init__(self, connections: HubConnections, folder: Path, name: str) -> None:
        self.key, self.said = NodeKey(folder / name), list[str]()
        self.connections, self.queue = connections, HubQueue(connections, name)
        join(connections, Node(id=name, name=name, public_key=self.key.public))
        self.queue.beat([])
        self.queue.submit(TaskSpec(description="x"))
        (claim,) = self.queue.claim()
        self.held = claim.held

    def sign(self, commit: str) -> str:
        return self.key.sign(offered_text(self.queue.node, self.held.task_id, LINE, commit, "agent/x"))


def others(connections: HubConnections, one: Lander) -> list[int]:
    landing = Landing(connections, one.queue, one.key, lambda _: LINE, 60, one.said.append)
    return [each.task_id for each in landing.others(LINE, "python", one.held)]


def test_an_offer_is_landed_by_others_only_with_its_nodes_signature(
    connections: HubConnections, tmp_path: Path
) -> None:
    one, good, bad, old = (Lander(connections, tmp_path, name) for name in ("one", "good", "bad", "old"))
    good.queue.queue_landing(good.held, LINE, "c0ffee", "agent/x", "python", good.sign("c0ffee"))
    bad.queue.queue_landing(bad.held, LINE, "c0ffee", "agent/x", "python", bad.sign("beef"))
    old.queue.queue_landing(old.held, LINE, "c0ffee", "agent/x", "python", "")
    assert others(connections, one) == [good.held.task_id]
    assert one.said == [f"task {bad.held.task_id} of the hub is not landed here: the offer is not signed by bad"]
    assert [each.queue.landing_of(each.held)[1] for each in (good, bad, old)] == [False, True, True]
    assert others(connections, one) == [good.held.task_id]
    assert len(one.said) == 1
