"""The hub's settings and its namespace: what holds for all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError, RPCStatusCode

from nightshift.core.errors import HubRefused
from nightshift.remote.hub.connection import NOT_READY, HubConnection, describe
from nightshift.remote.hub.workflows import CONTROL, STATUS, WORKFLOWS, Settings

if TYPE_CHECKING:
    from temporalio.client import Client


def prepare(connection: HubConnection) -> bool:
    """Make what the namespace lacks: the search attribute for statuses; whether it lacked that.

    Raises:
        HubAway: the server cannot be reached.
        HubRefused: it refuses.
    """

    async def add(client: Client) -> bool:
        if STATUS.name in await _attributes(client):
            return False
        kind = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        wanted = AddSearchAttributesRequest(namespace=client.namespace, search_attributes={STATUS.name: kind})
        await client.operator_service.add_search_attributes(wanted)
        return True

    return connection.call(add)


def check(connection: HubConnection) -> None:
    """Make sure that the namespace is there and ready; raises as `prepare`."""

    async def look(client: Client) -> bool:
        await client.count_workflows("WorkflowType = 'Control'")
        try:
            return STATUS.name in await _attributes(client)
        except RPCError as error:
            if error.status not in {RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED}:
                raise
            return True  # a hosted server tells when the attribute is used

    if not connection.call(look):
        raise HubRefused(NOT_READY)


async def _attributes(client: Client) -> set[str]:
    asked = ListSearchAttributesRequest(namespace=client.namespace)
    return set((await client.operator_service.list_search_attributes(asked)).custom_attributes)


async def begin_control(client: Client) -> None:
    """Start the workflow of the settings, unless it runs."""
    await client.start_workflow(
        "Control", Settings(), id=CONTROL, task_queue=WORKFLOWS,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )  # fmt: skip


def read_settings(connection: HubConnection) -> Settings:
    """Read the settings; those of a hub that no node has joined are the usual ones."""

    async def read(client: Client) -> Settings:
        described = await describe(client, CONTROL)
        return await described.memo_value("settings", Settings(), type_hint=Settings) if described else Settings()

    return connection.call(read)


def pause(connection: HubConnection, reason: str | None) -> None:
    """Let no node take a task; with None let nodes take tasks again."""
    _update(connection, "pause", reason)


def follow(connection: HubConnection, workspace: str) -> None:
    """Set the remote that the workspaces of all nodes follow."""
    _update(connection, "follow", workspace)


def join(connection: HubConnection, node: str, public_key: str) -> int:
    """Introduce a node, and return its number.

    Raises:
        NodeRemoved: the hub's owner has removed it.
        HubRefused: its id is known with another key.
    """
    return int(_update(connection, "join", node, public_key))


def bar(connection: HubConnection, node: str, *, is_barred: bool) -> None:
    """Let a node never join again, or let it join."""
    _update(connection, "remove", node, is_barred)


def _update(connection: HubConnection, name: str, *values: object) -> Any:
    async def ask(client: Client) -> Any:
        await begin_control(client)
        return await client.get_workflow_handle(CONTROL).execute_update(name, args=list(values))

    return connection.call(ask)
