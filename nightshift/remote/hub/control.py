"""The hub's namespace, and the settings that all nodes share."""

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
    """Create the search attribute for task statuses if the namespace lacks it; return True if it was created.

    Raises:
        HubAway: the server cannot be reached.
        HubRefused: the server refuses.
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
    """Check that the namespace exists and is ready. Raises the errors of `prepare`."""

    async def look(client: Client) -> bool:
        await client.count_workflows("WorkflowType = 'Control'")
        try:
            return STATUS.name in await _attributes(client)
        except RPCError as error:
            if error.status not in {RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED}:
                raise
            return True  # a hosted server reports a missing attribute when it is used

    if not connection.call(look):
        raise HubRefused(NOT_READY)


async def _attributes(client: Client) -> set[str]:
    asked = ListSearchAttributesRequest(namespace=client.namespace)
    return set((await client.operator_service.list_search_attributes(asked)).custom_attributes)


async def begin_control(client: Client) -> None:
    """Start the workflow that holds the settings, unless it is running."""
    await client.start_workflow(
        "Control", Settings(), id=CONTROL, task_queue=WORKFLOWS,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )  # fmt: skip


def read_settings(connection: HubConnection) -> Settings:
    """Read the settings; the defaults if no node has joined the hub yet."""

    async def read(client: Client) -> Settings:
        described = await describe(client, CONTROL)
        return await described.memo_value("settings", Settings(), type_hint=Settings) if described else Settings()

    return connection.call(read)


def pause(connection: HubConnection, reason: str | None) -> None:
    """Stop all nodes from taking tasks, and record the reason. None as the reason lets them take tasks again."""
    _update(connection, "pause", reason)


def follow(connection: HubConnection, workspace: str) -> None:
    """Set the remote repository that the workspaces of all nodes follow."""
    _update(connection, "follow", workspace)


def join(connection: HubConnection, node: str, public_key: str) -> int:
    """Register a node, and return its number.

    Raises:
        NodeRemoved: the hub's owner has removed the node.
        HubRefused: the node's id is registered with another key.
    """
    return int(_update(connection, "join", node, public_key))


def bar(connection: HubConnection, node: str, *, is_barred: bool) -> None:
    """Bar a node from joining, or allow it again."""
    _update(connection, "remove", node, is_barred)


def _update(connection: HubConnection, name: str, *values: object) -> Any:
    async def ask(client: Client) -> Any:
        await begin_control(client)
        return await client.get_workflow_handle(CONTROL).execute_update(name, args=list(values))

    return connection.call(ask)
