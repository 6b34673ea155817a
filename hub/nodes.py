"""The nodes of a hub: how one joins, which there are, and which take nothing new."""

from __future__ import annotations

from dataclasses import dataclass

from core.clock import Moment
from core.errors import UnknownNode
from hub.connection import HubConnections


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as it introduces itself. `id` is drawn once for a home; `labels` say what it can do.

    `public_key` is what its results are verified with; a known id with another key is refused.
    """

    id: str
    name: str
    public_key: str = ""
    labels: tuple[str, ...] = ()
    slots: int = 0
    url: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A node as any other may read it. `is_up`: its lease holds; `held`: tasks that it has."""

    id: str
    name: str
    public_key: str
    labels: tuple[str, ...]
    slots: int
    busy: int
    state: str
    url: str
    version: str
    draining: bool
    is_up: bool
    unseen_s: float
    held: int
    joined_at: Moment
    seen_at: Moment


def join(connections: HubConnections, node: Node) -> None:
    """Introduce a node, or renew what is known of it.

    Raises:
        HubAway: the hub cannot be reached.
        HubRefused: its id is known with another key.
    """
    connections.rows(
        "SELECT join_hub(%s, %s, %s, %s::text[], %s, %s, %s)",
        (node.id, node.name, node.public_key, sorted(set(node.labels)), node.slots, node.url, node.version),
    )


def nodes(connections: HubConnections) -> list[NodeStatus]:
    """All nodes, by name."""
    rows = connections.rows("SELECT * FROM node_list ORDER BY name, id")
    return [
        NodeStatus(
            **{name: row[name] for name in NodeStatus.__dataclass_fields__ if name not in {"labels", "unseen_s"}},
            labels=tuple(row["labels"]),
            unseen_s=float(row["unseen_s"]),
        )
        for row in rows
    ]


def keys(connections: HubConnections) -> dict[str, str]:
    """The public keys of all nodes by their ids; those that gave none are left out."""
    rows = connections.rows("SELECT id, public_key FROM node_list WHERE public_key <> ''")
    return {row["id"]: row["public_key"] for row in rows}


def drain(connections: HubConnections, name: str, *, draining: bool) -> NodeStatus:
    """Let a node (its name or id) take nothing new, or take tasks again; what it has goes on.

    Raises:
        UnknownNode: there is none of that name, or several.
    """
    known = nodes(connections)
    found = [one for one in known if one.id == name] or [one for one in known if one.name == name]
    if len(found) != 1:
        raise UnknownNode(name, tuple(one.name for one in known))
    connections.rows("SELECT drain(%s, %s)", (found[0].id, draining))
    return found[0]
