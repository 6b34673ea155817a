"""Serves the hub that several machines share. Any of these machines can show and control the hub's nodes and tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, StrictBool

from nightshift.core.clock import Moment
from nightshift.core.errors import HubError
from nightshift.core.hub import Hub, HubAct, HubTask, NodeStatus, NoHub, Signed
from nightshift.core.tasks.states import Status, cause_first
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.query import Id, Query
from nightshift.server.routes.bulk import PriorityIn
from nightshift.server.schemas import Answer, Sent, extend

MOST_TASKS = 200
NodeState = Literal["up", "draining", "lost", "removed"]
routes = Routes()


class HubNode(Answer):
    """A node of the hub.

    `slots` is the number of tasks it can work on at once, and `busy` the number of slots in use. `held` counts the
    tasks that the node holds. `says` is its own status in one line. `state` is `lost` if the node was not heard of
    within its lease, and `removed` if the owner of the hub removed it. `url` is the address of its dashboard, empty if
    the node gave no address that is safe to link.
    """

    id: str
    name: str
    state: NodeState
    says: str
    labels: tuple[str, ...]
    slots: int
    busy: int
    held: int
    draining: bool
    url: str
    version: str
    unseen_s: float
    seen_at: Moment


class HubOwn(Answer):
    """The local machine as a node of the hub. `id` is null until the machine has joined the hub for the first time."""

    id: str | None
    name: str


class HubState(Answer):
    """State of the hub.

    If the hub is not `reachable`, `reason` says why, and `nodes` and `counts` are empty. `paused` is the reason why no
    node takes tasks (it may be an empty text), null if the hub is not paused. `counts` leaves out zeros. `ui` is the
    address of Temporal's own web page, assuming the server's default settings.
    """

    own: HubOwn
    reachable: bool
    reason: str
    ui: str
    paused: str | None
    counts: dict[Status, int]
    nodes: list[HubNode]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTaskRow(HubTask):
    """A task of the hub.

    `cause` is the reason with the last failure first and the ending in brackets; it equals `reason` if no failure is
    known. `signed` says whether the result has a valid signature of the node that had the task; it is null until the
    task has ended. `node_page` is the task's page on the dashboard of `node`, and `origin_page` its page on the
    dashboard of `origin`. Both pages may be null.
    """

    cause: str
    signed: Signed | None
    node_page: str | None
    origin_page: str | None


class HubTasks(Answer):
    """A page of tasks: first the open tasks, then the ended ones, newest first.

    `next_after` is the `after` of the next page, null on the last page.
    """

    tasks: list[HubTaskRow]
    next_after: int | None


class HubTasksQuery(Query):
    """Selection of tasks to list."""

    status: Status | None = Field(None, description="only tasks with this status")
    limit: int = Field(50, ge=1, le=MOST_TASKS)
    after: Id | None = Field(None, description="the last id of the previous page")


class HubActed(Answer):
    """Status of a task after an action. If a node has the task, that node cancels it a moment later."""

    id: int
    status: Status


class HubPauseIn(Sent):
    """A request that all nodes stop taking tasks, with the reason."""

    reason: str = Field("", max_length=1000)


class HubPaused(Answer):
    """The reason why no node takes tasks; null if the hub is not paused."""

    paused: str | None


class HubDrainIn(Sent):
    """A request that a node stop taking new tasks or, with `draining` false, take new tasks again."""

    draining: StrictBool = True


class HubDrained(Answer):
    """A node, and whether it has stopped taking new tasks."""

    id: str
    name: str
    draining: bool


@routes.endpoint("GET", "/api/hub")
def show_hub(context: AppContext) -> HubState:
    """Show the hub's nodes, the number of tasks of each status, and whether the hub is reachable.

    Responds 404 if the settings name no hub.
    """
    hub = _hub(context)
    here = hub.own()
    own, ui = HubOwn.from_values(here), linkable(here.ui)
    try:
        overview = hub.overview()
    except HubError as error:
        return HubState(own=own, reachable=False, reason=str(error), ui=ui, paused=None, counts={}, nodes=[])
    counts = {status: count for status, count in overview.counts.items() if count}
    nodes = [_node(node) for node in overview.nodes]
    return HubState(own=own, reachable=True, reason="", ui=ui, paused=overview.paused, counts=counts, nodes=nodes)


@routes.endpoint("GET", "/api/hub/tasks")
def list_hub_tasks(context: AppContext, query: HubTasksQuery) -> HubTasks:
    """List the tasks of all nodes: first the open tasks, then the ended ones, newest first.

    Ids are those of the hub.
    """
    rows = [_task(task, signed) for task, signed in _hub(context).tasks(query.status, query.limit, query.after)]
    return HubTasks(tasks=rows, next_after=rows[-1].id if len(rows) == query.limit else None)


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


def linkable(url: str) -> str:
    """Return the dashboard address of another node without its trailing slash; empty if it is not a web address."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.username
    except ValueError:
        sound = False
    return url.rstrip("/") if sound and url.isprintable() and " " not in url else ""


def _node(node: NodeStatus) -> HubNode:
    state: NodeState = "draining" if node.draining else "up"
    if not node.is_up:
        state = "removed" if node.is_removed else "lost"
    return HubNode.from_values(node, state=state, says=node.state, url=linkable(node.url))


def _task(task: HubTask, signed: Signed | None) -> HubTaskRow:
    return extend(
        HubTaskRow,
        task,
        node_url=linkable(task.node_url or ""),
        origin_url=linkable(task.origin_url),
        cause=cause_first(task.reason),
        signed=signed,
        node_page=_page(task.node_url, task.node_task),
        origin_page=_page(task.origin_url, task.origin_task),
    )


def _page(url: str | None, number: int | None) -> str | None:
    site = linkable(url or "")
    return f"{site}/task/{number}" if site and number is not None else None
