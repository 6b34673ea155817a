"""A hub at a glance: its nodes, how many tasks stand where, and whether it is paused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nightshift.core.tasks.states import Status
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.nodes import NodeStatus, nodes
from nightshift.remote.hub.queue import HubQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All of that; `paused` is the reason, which may be empty, and None where tasks are claimed."""

    nodes: tuple[NodeStatus, ...]
    counts: Mapping[Status, int]
    paused: str | None

    @property
    def lost(self) -> tuple[NodeStatus, ...]:
        """Nodes that are not heard of; one that drains may go, one that was removed is gone."""
        return tuple(one for one in self.nodes if not one.is_up and not one.draining and one.removed_at is None)

    @property
    def belonging(self) -> tuple[NodeStatus, ...]:
        """All but those that were removed."""
        return tuple(one for one in self.nodes if one.removed_at is None)

    @property
    def up(self) -> tuple[NodeStatus, ...]:
        """Nodes whose lease holds."""
        return tuple(one for one in self.nodes if one.is_up)


def overview(connections: HubConnections) -> Overview:
    """Ask for it.

    Raises:
        HubAway: the hub cannot be reached.
        HubRefused: there is none of this program's version.
    """
    queue = asking(connections)
    return Overview(nodes=tuple(nodes(connections)), counts=queue.counts(), paused=queue.paused())


def asking(connections: HubConnections) -> HubQueue:
    """The queue for who reads and steers it, which no node need do."""
    return HubQueue(connections, node="")
