"""A hub's node without a daemon: its database, its workspace and its dispatcher, which a test runs step by step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.hub import NodeState
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.git.manager import GitManager
from nightshift.queue.manager import QueueManager
from nightshift.remote.hub.connection import HubConnection
from nightshift.remote.hub.dispatcher import Dispatcher, NodeServices
from nightshift.remote.hub.repositories import SharedRepositories
from nightshift.remote.hub.signing import NodeKey
from nightshift.remote.hub.workflows import Presence
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support.daemon import git, until
from tests.support.ready_database import ready

LEASE_S = 60.0


@dataclass
class HubNode:
    """A node of a hub; `slots` is the number of tasks that it may take at once."""

    connection: HubConnection
    dispatcher: Dispatcher
    queue: QueueManager
    events: EventLog
    slots: int = 0

    def turn(self) -> float:
        """Run one cycle of the dispatcher, including all of its periodic checks."""
        self.dispatcher.beat_soon()
        return self.dispatcher.turn()

    def submit(self, text: str, **more: object) -> int:
        """Submit a task, report it to the hub, and return its number on this node."""
        task_id = self.queue.submit(TaskSpec(description=text, **more)).result().task_id  # type: ignore[arg-type]  # fields
        self.turn()
        assert self.queue.get(task_id).hub_id is not None, self.read_messages()
        return task_id

    def number(self, task_id: int) -> int:
        """Return the number that a task of this node has on the hub, or 0 if the hub does not know the task."""
        return self.queue.get(task_id).hub_id or 0

    def take(self, most: int = 1) -> Task:
        """Return the task that the hub assigns to this node next, claimed by the node's worker."""
        self.slots = most
        claimed: list[Task] = []

        def is_claimed() -> bool:
            self.turn()
            if workers := self.dispatcher._workers:
                workers.slots.wake()
            claimed.extend(filter(None, [self.queue.claim("worker").result()]))
            return bool(claimed)

        until(is_claimed, within_s=30)
        self.turn()
        return claimed[0]

    def read_messages(self) -> str:
        return "\n".join(event.message for event in self.events.after(0, limit=999))

    def die(self) -> None:
        """Stop the workers, so that the node neither takes tasks nor reports on them any more."""
        self.dispatcher.stop_workers()


def workspace_of_all(folder: Path) -> str:
    """Create an empty bare repository that the workspaces of all nodes follow."""
    git(folder, "init", "-q", "--bare", "--initial-branch=main", str(folder / "shared.git"))
    return str(folder / "shared.git")


@contextmanager
def hub_node(
    url: str, folder: Path, name: str, *, lease_s: float = LEASE_S, labels: tuple[str, ...] = ()
) -> Iterator[HubNode]:
    """Open a node that has joined the hub but takes no tasks yet.

    `name` is also the node's id and the name of the node's own folder in `folder`.
    """
    connection = HubConnection(url)
    db = Database(ready(folder / name / "queue.sqlite"))
    events = EventLog(db)
    queue = QueueManager(db, events)
    manager = GitManager(workspace=folder / name / "workspace", author=Author(), auto_push=False, emit=events.emit)
    repositories = SharedRepositories(manager, folder / name / "clones", list)
    node: HubNode

    def state() -> NodeState:
        return NodeState(takes=node.slots > 0, slots=node.slots, says=str)

    services = NodeServices(queue=queue, repositories=repositories, state=state, emit=events.emit, mask=Masker())
    key = NodeKey(folder / name / "key")
    presence = Presence(id=name, name=name, lease_s=lease_s, labels=list(labels))
    node = HubNode(connection, Dispatcher(connection, presence, key, services), queue, events)
    queue.shares = repositories.shares
    node.turn()
    try:
        yield node
    finally:
        node.die()
        connection.close()
        manager.close()
        db.close()
