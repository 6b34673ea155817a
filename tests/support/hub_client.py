"""A node of a hub in a process of its own, which may be killed at any statement.

    python -m tests.support.hub_client script URL NODE N    stop for good before the N-th statement of a fixed script
    python -m tests.support.hub_client work URL NODE LEASE_S    claim, keep, give back and finish until it is killed

It prints `at N`, `over`, or `finished TASK FENCE` for each end that the hub has taken. A commit names node and fence.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from nightshift.core.errors import HubAway, StaleFence
from nightshift.core.tasks.states import Ending, Status
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import Node, join
from nightshift.remote.hub.queue import Claim, HubQueue, Result

NEVER = 10**9


class Counted(HubConnections):
    """Stops for good before a statement; each is one transaction."""

    def __init__(self, url: str, stop_at: int) -> None:
        super().__init__(url)
        self._left, self._at = stop_at, stop_at

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        self._left -= 1
        if self._left == 0:
            print(f"at {self._at}", flush=True)
            time.sleep(NEVER)
        return super().rows(query, values)


def result(node: str, fence: int) -> Result:
    return Result(status=Status.DONE, ending=Ending.COMMITTED, commit=f"{node}:{fence}")


def script(url: str, node: str, stop_at: int) -> None:
    """All that a node says of tasks, once at least."""
    hub = Counted(url, stop_at)
    join(hub, Node(id=node, name=node, slots=4))
    queue = HubQueue(hub, node)
    queue.beat([])
    (first,) = queue.claim()
    queue.adopted(first.held, 7)
    queue.keep(first.held, "one")
    queue.wait_for_owner(first.held, '{"asks": "?"}')
    queue.beat([first.held])
    queue.wait_for_owner(first.held, "")
    queue.keep(first.held, "two")
    queue.confirm(first.held)
    queue.finish(first.held, result(node, first.held.fence))
    for claim in queue.claim(2):
        queue.keep(claim.held, "three")
        queue.put_back(claim.held, "not now")
    queue.sweep()
    for claim in queue.claim(3):
        queue.finish(claim.held, result(node, claim.held.fence))
    queue.read_news([number for number, _ in queue.news()])
    print("over", flush=True)
    hub.close()


def work(url: str, node: str, lease_s: float) -> None:
    hub = HubConnections(url)
    queue = HubQueue(hub, node, lease_s)
    again(lambda: join(hub, Node(id=node, name=node, slots=4)))
    while True:
        again(lambda: queue.beat([]))
        again(lambda: queue.sweep(NEVER))
        for claim in again(lambda: queue.claim(2)):
            try:
                one(queue, claim)
            except StaleFence:
                continue
        time.sleep(0.01)


def one(queue: HubQueue, claim: Claim) -> None:
    held = claim.held
    again(lambda: queue.keep(held, f"kept under {held.fence}"))
    if random.random() < 0.2:
        again(lambda: queue.put_back(held, "not now"))
        return
    again(lambda: queue.finish(held, result(queue.node, held.fence)))
    print(f"finished {held.task_id} {held.fence}", flush=True)


def again(call: Callable[[], Any]) -> Any:
    """Return the answer once the hub answers; ask again where the answer may have been lost."""
    while True:
        try:
            return call()
        except HubAway:
            time.sleep(0.05)


if __name__ == "__main__":
    how, url, node, number = sys.argv[1:]
    script(url, node, int(number)) if how == "script" else work(url, node, float(number))
