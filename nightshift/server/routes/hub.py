"""Serves the hub that several machines share. Any of these machines can show and control the hub's nodes and tasks."""

from __future__ import annotations

from nightshift.core.hub import Hub, HubAct, NoHub
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.hub_answers import (
    HubActed,
    HubDrained,
    HubDrainIn,
    HubPaused,
    HubPauseIn,
    HubState,
    HubTasks,
    HubTasksQuery,
    state_of,
    tasks_of,
)
from nightshift.server.lists.bulk import PriorityIn

routes = Routes()


@routes.endpoint("GET", "/api/hub")
def show_hub(context: AppContext) -> HubState:
    """Show the hub's nodes, the number of tasks of each status, and whether the hub is reachable.

    Responds 404 if the settings name no hub.
    """
    return state_of(_hub(context))


@routes.endpoint("GET", "/api/hub/tasks")
def list_hub_tasks(context: AppContext, query: HubTasksQuery) -> HubTasks:
    """List the tasks of all nodes: first the open tasks, then the ended ones, newest first.

    Ids are those of the hub.
    """
    return tasks_of(_hub(context), query)


@routes.endpoint("POST", "/api/hub/tasks/{task_id}/cancel")
def cancel_hub_task(context: AppContext, task_id: int) -> HubActed:
    """Cancel a task. If a node has the task, that node ends it within a moment."""
    return HubActed(id=task_id, status=_hub(context).act(HubAct.CANCEL, task_id))


@routes.endpoint("POST", "/api/hub/tasks/{task_id}/retry")
def retry_hub_task(context: AppContext, task_id: int) -> HubActed:
    """Queue a failed or cancelled task again. Any node may then take it."""
    return HubActed(id=task_id, status=_hub(context).act(HubAct.RETRY, task_id))


@routes.endpoint("POST", "/api/hub/tasks/{task_id}/priority")
def prioritise_hub_task(context: AppContext, task_id: int, body: PriorityIn) -> HubActed:
    """Set a task's priority. Tasks with a higher priority are claimed sooner."""
    return HubActed(id=task_id, status=_hub(context).act(HubAct.PRIORITISE, task_id, body.priority))


@routes.endpoint("POST", "/api/hub/pause")
def pause_hub(context: AppContext, body: HubPauseIn | None) -> HubPaused:
    """Stop all nodes from taking tasks; running tasks continue."""
    reason = body.reason if body else ""
    _hub(context).pause(reason)
    return HubPaused(paused=reason)


@routes.endpoint("POST", "/api/hub/resume")
def resume_hub(context: AppContext) -> HubPaused:
    """Allow nodes to take tasks again."""
    _hub(context).pause(None)
    return HubPaused(paused=None)


@routes.endpoint("POST", "/api/hub/nodes/{node}/drain")
def drain_node(context: AppContext, node: str, body: HubDrainIn | None) -> HubDrained:
    """Stop a node from taking new tasks, or let it take tasks again if `draining` is false.

    The node is given by its id or name. Running tasks continue.
    """
    draining = body.draining if body else True
    status = _hub(context).drain(node, draining=draining)
    return HubDrained(id=status.id, name=status.name, draining=draining)


def _hub(context: AppContext) -> Hub:
    if context.hub is None:
        raise NoHub
    return context.hub
