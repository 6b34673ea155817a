"""A hub's node without a daemon or a database. It collects attempts in a list, and the test decides how they end."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from itertools import count
from typing import Any

from temporalio.client import Client

from nightshift.core.clock import utc_now
from nightshift.core.errors import HubError
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Spent, TaskSpec
from nightshift.remote.hub import control, nodes
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.queue import Held, HubQueue, hub_number
from nightshift.remote.hub.worker import NodeWorkers
from nightshift.remote.hub.workflows import (
    ANY,
    Assignment,
    Facts,
    Outcome,
    Presence,
    Request,
    Taker,
    queue_of,
    workflow_of,
)
from nightshift.storage.db.codec import encode

LEASE_S = 3600.0


class LightNode:
    """A node that has joined the hub; `close` ends the node. It takes no attempts until a test asks it to.

    Args:
        url: the hub's address.
        node: the data that the node reports about itself.
    """

    def __init__(self, url: str, node: Presence) -> None:
        self.connection, self.node = HubConnection(url), node
        self.queue, self._taken = HubQueue(self.connection), queue.SimpleQueue[Assignment]()
        self._wanted, self._ends, self._numbers = 0, False, count(1)

        async def start(client: Client) -> NodeWorkers:
            return NodeWorkers(client, lambda: self._wanted, self._take, LEASE_S)

        control.prepare(self.connection)
        self._workers = self.connection.call(start)
        self.number = control.join(self.connection, node.id, node.public_key)
        self.beat()

    def close(self) -> None:
        workers = self._workers

        async def stop(_: Client) -> None:
            await workers.stop()

        with suppress(HubError):
            self.connection.call(stop)
        self.connection.close()

    def beat(self, **more: Any) -> None:
        self.node = replace(self.node, **more)
        nodes.beat(self.connection, self.node)

    def submit(self, text: str, *, origin_task: int | None = None, **more: Any) -> int:
        """Submit a task and return its number on the hub."""
        local = origin_task or next(self._numbers)
        request = Request(
            id=hub_number(local, self.number), spec=encode(TaskSpec(description=text)), title=text.splitlines()[0],
            origin=self.node.id, origin_name=self.node.name, origin_url=self.node.url, origin_task=local,
            created_at=utc_now().isoformat(), lease_s=self.node.lease_s,
            **{"repository": "workspace", "share": "workspace", **more},
        )  # fmt: skip
        self.queue.submit(request)
        return request.id

    def want(self, most: int = 1) -> None:
        """Let the node take up to this many attempts."""

        async def poll(_: Client) -> None:
            self._workers.poll({ANY, queue_of(self.node.labels)})

        self.connection.call(poll)
        self._wanted = most
        self._workers.slots.wake()

    def wait_for_attempt(self) -> Assignment:
        """Wait for the next attempt that the node takes, and return it."""
        return self._taken.get(timeout=60)

    def is_looked_at(self, number: int) -> bool:
        """Check whether a task's workflow has begun.

        If the task is queued, the workflow must also have put the attempt into a task queue.
        """

        async def has_begun(client: Client) -> bool:
            described = await client.get_workflow_handle(workflow_of(number)).describe()
            facts = await described.memo_value("task", None, type_hint=Facts)
            return facts is not None and (
                facts.status != "queued" or bool(described.raw_description.pending_activities)
            )

        return self.connection.call(has_begun)

    def answers(self) -> bool:
        """Check whether the hub answers and advances workflows."""
        try:
            control.pause(self.connection, None)
        except HubError:
            return False
        return True

    def end_all(self, workers: int) -> None:
        """Take attempts with this many workers, and report each as committed at once, as `bench/hub.py` needs it."""
        self._ends = True
        self.want(workers)

    def take(self, node_task: int = 1) -> Assignment:
        """Take the next attempt, and wait until the hub has recorded that this node runs it."""
        self.want()
        assignment = self.wait_for_attempt()
        node = self.node
        taker = Taker(fence=assignment.fence, node=node.id, name=node.name, url=node.url, task=node_task)
        self.queue.tell_taken(held(assignment), taker)
        while self.queue.get(assignment.request.id).status is not Status.RUNNING:
            continue
        return assignment

    def end(self, assignment: Assignment, status: Status = Status.DONE, **more: Any) -> None:
        """Report how an attempt ended, and wait until the hub has recorded the end."""
        ending = Ending.COMMITTED if status is Status.DONE else Ending.ERROR
        usual = {"status": status, "ending": ending, "spent": json.dumps(asdict(Spent()))}
        self.queue.end(held(assignment), Outcome(**{**usual, **more}))
        number = assignment.request.id
        while self.queue.get(number).status in {Status.RUNNING, Status.WAITING}:
            continue

    def _take(self, assignment: Assignment) -> Outcome | None:
        if self._ends:
            return Outcome(status=Status.DONE, ending=Ending.COMMITTED)
        if not self._wanted:
            return Outcome(is_back=True)
        self._wanted -= 1
        self._taken.put(assignment)
        return None


@contextmanager
def light_node(hub_url: str, name: str = "a", **more: Any) -> Iterator[LightNode]:
    """Open a node of that name; its id is `more["id"]` or its name."""
    node = LightNode(hub_url, Presence(**{"id": name, "name": name, "slots": 4, "lease_s": LEASE_S, **more}))
    try:
        yield node
    finally:
        node.close()


def held(assignment: Assignment) -> Held:
    return Held(task_id=assignment.request.id, fence=assignment.fence)
