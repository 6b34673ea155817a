"""A node of a hub without a daemon: its database, its workspace and its dispatcher, whose turns a test takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.git.manager import GitManager
from nightshift.queue.manager import QueueManager
from nightshift.remote.hub import migrations
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.dispatcher import Dispatcher, NodeServices, NodeState
from nightshift.remote.hub.nodes import Node
from nightshift.remote.hub.repositories import SharedRepositories
from nightshift.remote.hub.signing import NodeKey
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support.daemon import git
from tests.support.ready_database import ready

LEASE_S = 60.0


@dataclass
class HubNode:
    """`slots` may be set to let it take so many tasks."""

    connections: HubConnections
    dispatcher: Dispatcher
    queue: QueueManager
    events: EventLog
    slots: int = 0

    def turn(self) -> float:
        return self.dispatcher.turn()

    def beat(self) -> None:
        """A turn in which its lease is renewed."""
        self.dispatcher.beat_soon()
        self.turn()

    def submit(self, text: str, **more: object) -> int:
        """A task that the hub knows then; its number here."""
        task_id = self.queue.submit(TaskSpec(description=text, **more)).result().task_id  # type: ignore[arg-type]  # fields
        self.turn()
        assert self.queue.get(task_id).hub_id is not None, self.said()
        return task_id

    def number(self, task_id: int) -> int:
        """The hub's."""
        return self.queue.get(task_id).hub_id or 0

    def running(self) -> Task:
        """The task that the hub gave it, claimed by its worker."""
        task = self.queue.claim("worker").result()
        assert task, self.said()
        return task

    def said(self) -> str:
        return "\n".join(event.message for event in self.events.after(0, limit=999))


def workspace_of_all(connections: HubConnections, folder: Path) -> None:
    """An empty bare repository that the workspaces of all nodes follow."""
    git(folder, "init", "-q", "--bare", "--initial-branch=main", str(folder / "shared.git"))
    migrations.set_option(connections, migrations.WORKSPACE, str(folder / "shared.git"))


@contextmanager
def hub_node(connections: HubConnections, folder: Path, name: str) -> Iterator[HubNode]:
    """One of that name, which has joined and takes nothing yet.

    Args:
        connections: the node's own; it closes them.
        folder: in which it has one of its name.
        name: also its id.
    """
    db = Database(ready(folder / name / "queue.sqlite"))
    events = EventLog(db)
    queue = QueueManager(db, events)
    manager = GitManager(workspace=folder / name / "workspace", author=Author(), auto_push=False, emit=events.emit)
    found = SharedRepositories(manager, folder / name / "clones", list)
    made: HubNode

    def state() -> NodeState:
        return NodeState(takes=made.slots > 0, slots=made.slots, says=str)

    services = NodeServices(queue=queue, repositories=found, state=state, emit=events.emit)
    key = NodeKey(folder / name / "key")
    dispatcher = Dispatcher(connections, Node(id=name, name=name), key, services, LEASE_S)
    made = HubNode(connections, dispatcher, queue, events)
    queue.shares = found.shares
    made.turn()
    try:
        yield made
    finally:
        connections.close()
        manager.close()
        db.close()
