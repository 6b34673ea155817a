"""The nodes of a hub: how one joins, which there are, and which take nothing new."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nightshift.core.clock import Moment
from nightshift.core.errors import UnknownNode
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.migrations import ROLE

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import DictRow


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
    """A node as any other may read it. `is_up`: its lease holds; `held`: tasks that it has; `login`: its user there."""

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
    removed_at: Moment | None
    login: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The result of removing a node: `moved` tasks of it go to others.

    Its login was shut out where `is_shut_out`; that of others, whose names are `sharing`, is left.
    """

    node: NodeStatus
    moved: int
    is_shut_out: bool
    sharing: tuple[str, ...]


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
    found = _named(nodes(connections), name)
    connections.rows("SELECT drain(%s, %s)", (found.id, draining))
    return found


def remove(connections: HubConnections, name: str) -> Removal:
    """Let a node (its name or id) never come back, as the schema's owner: others have its tasks.

    Its user in the database loses the role of nodes, unless another node, or the owner, comes as that one too.

    Raises:
        UnknownNode: there is none of that name, or several.
        HubRefused: who asks is not the schema's owner.
    """
    known = nodes(connections)
    found = _named(known, name)
    sharing = tuple(one.name for one in known if one.login == found.login and one.id != found.id and not one.removed_at)
    with connections.connection() as conn, conn.transaction():
        row = conn.execute("SELECT remove_node(%s) AS moved, current_user AS owner", (found.id,)).fetchone()
        assert row, "a call gives one row"
        is_other = bool(found.login) and found.login != row["owner"] and not sharing
        is_shut_out = is_other and _shut_out(conn, found.login)
    return Removal(node=found, moved=row["moved"], is_shut_out=is_shut_out, sharing=sharing)


def let_back(connections: HubConnections, name: str) -> NodeStatus:
    """Let a node that was removed come again, as the schema's owner; raises as `remove`."""
    import psycopg  # noqa: PLC0415  an extra
    from psycopg.sql import SQL, Identifier  # noqa: PLC0415  as above

    found = _named(nodes(connections), name, removed=True)
    with connections.connection() as conn:
        conn.execute("UPDATE nodes SET removed_at = NULL WHERE id = %s", (found.id,))
        with suppress(psycopg.Error):  # a user that is gone, or has the right anyway
            conn.execute(SQL("GRANT {} TO {}").format(Identifier(ROLE), Identifier(found.login)))
    return found


def _shut_out(conn: Connection[DictRow], login: str) -> bool:
    """Take the role of nodes from a user; whether it has it no more: somebody else may have granted it as well."""
    import psycopg  # noqa: PLC0415  an extra
    from psycopg.sql import SQL, Identifier  # noqa: PLC0415  as above

    try:
        with conn.transaction():
            conn.execute(SQL("REVOKE {} FROM {}").format(Identifier(ROLE), Identifier(login)))
            row = conn.execute("SELECT pg_has_role(%s, %s, 'MEMBER') AS has", (login, ROLE)).fetchone()
    except psycopg.Error:
        return False
    return not (row and row["has"])


def _named(known: Sequence[NodeStatus], name: str, *, removed: bool = False) -> NodeStatus:
    """The one node of that name or id among those that were removed, or were not."""
    some = [one for one in known if (one.removed_at is not None) is removed]
    found = [one for one in some if one.id == name] or [one for one in some if one.name == name]
    if len(found) != 1:
        raise UnknownNode(name, tuple(one.name for one in some))
    return found[0]
