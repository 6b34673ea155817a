"""The nodes of a hub: what each node reports about itself, and which nodes drain. Each node has a workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError

from nightshift.core.clock import utc_now
from nightshift.core.errors import UnknownNode
from nightshift.core.hub import NodeStatus, Overview
from nightshift.core.tasks.states import Status
from nightshift.remote.hub import control
from nightshift.remote.hub.connection import HubConnection, describe
from nightshift.remote.hub.queue import Held, HubQueue, tell_attempt
from nightshift.remote.hub.workflows import REMOVED, WORKFLOWS, Presence, Settings

if TYPE_CHECKING:
    from temporalio.client import Client

MOST = 10_000


def beat(connection: HubConnection, node: Presence) -> bool:
    """Send a node's heartbeat; return True if the node should drain, that is, take no new tasks."""

    async def tell(client: Client) -> bool:
        handle = await client.start_workflow(
            "Node", node, id=_workflow(node.id), task_queue=WORKFLOWS,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING, start_signal="beat", start_signal_args=[node],
        )  # fmt: skip
        presence = await (await handle.describe()).memo_value("node", node, type_hint=Presence)
        return presence.is_draining

    return connection.call(tell)


def nodes(connection: HubConnection, settings: Settings | None = None) -> list[NodeStatus]:
    """List all nodes by name. `settings` are the hub's settings, which are read if they are not given."""
    hub_settings = settings or control.read_settings(connection)

    async def read(client: Client, node: str) -> Presence | None:
        described = await describe(client, _workflow(node))
        return await described.memo_value("node", None, type_hint=Presence) if described else None

    async def read_all(client: Client) -> list[Presence | None]:
        return await asyncio.gather(*(read(client, node) for node in hub_settings.numbers))

    statuses = [_status(node, node.id in hub_settings.removed) for node in connection.call(read_all) if node]
    return sorted(statuses, key=lambda node: (node.name, node.id))


def keys(connection: HubConnection) -> dict[str, str]:
    """Return the public keys of all nodes by node id. Nodes without a key are left out."""
    return {node: key for node, key in control.read_settings(connection).keys.items() if key}


def overview(connection: HubConnection) -> Overview:
    """Read an overview of the hub: the nodes, the number of tasks in each status, and the reason of a pause."""
    settings = control.read_settings(connection)
    return Overview(
        nodes=tuple(nodes(connection, settings)), counts=HubQueue(connection).counts(), paused=settings.paused
    )


def drain(connection: HubConnection, name: str, *, draining: bool) -> NodeStatus:
    """Stop a node (by name or id) from taking new tasks, or let it take tasks again; its current tasks continue.

    Raises:
        UnknownNode: no node has that name, or several have it.
    """
    node = _find_named(nodes(connection), name)

    async def ask(client: Client) -> None:
        await client.get_workflow_handle(_workflow(node.id)).execute_update("drain", draining)

    connection.call(ask)
    return node


def remove(connection: HubConnection, name: str) -> tuple[NodeStatus, int]:
    """Remove a node (by name or id) permanently, and give its tasks to other nodes.

    Returns the node and the number of its tasks.

    Raises:
        UnknownNode: no node has that name, or several have it.
    """
    node, queue = _find_named(nodes(connection), name), HubQueue(connection)
    control.bar(connection, node.id, is_barred=True)
    some = [task for status in (Status.RUNNING, Status.WAITING) for task in queue.find(status, MOST)]
    theirs = [facts for facts in queue.look(task.id for task in some).values() if facts.node == node.id]

    async def take(client: Client) -> None:
        error = ApplicationError("its node was removed", type=REMOVED)
        for task in theirs:  # an attempt that has just ended is ignored
            await tell_attempt(client, Held(task_id=task.id, fence=task.fence), lambda handle: handle.fail(error))

    connection.call(take)
    return node, len(theirs)


def let_back(connection: HubConnection, name: str) -> NodeStatus:
    """Allow a removed node to join again. Raises the errors of `remove`."""
    node = _find_named(nodes(connection), name, is_removed=True)
    control.bar(connection, node.id, is_barred=False)
    return node


def _workflow(node: str) -> str:
    return f"node-{node}"


def _status(node: Presence, is_removed: bool) -> NodeStatus:
    seen_at = datetime.fromisoformat(node.seen_at)
    named = {name: getattr(node, name) for name in NodeStatus.__dataclass_fields__ if hasattr(node, name)}
    return NodeStatus(
        **{
            **named,
            "labels": tuple(node.labels),
            "draining": node.is_draining,
            "is_up": node.is_up and not is_removed,
            "is_removed": is_removed,
            "unseen_s": max(0.0, (utc_now() - seen_at).total_seconds()),
            "joined_at": datetime.fromisoformat(node.joined_at),
            "seen_at": seen_at,
        }
    )


def _find_named(some: Sequence[NodeStatus], name: str, *, is_removed: bool = False) -> NodeStatus:
    """Return the only node with that name or id, among the nodes whose `is_removed` has the given value."""
    asked = [node for node in some if node.is_removed is is_removed]
    fitting = [node for node in asked if node.id == name] or [node for node in asked if node.name == name]
    if len(fitting) != 1:
        raise UnknownNode(name, tuple(node.name for node in asked))
    return fitting[0]
