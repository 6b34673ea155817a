"""Answers of the API on the hub: nodes, counts and tasks; what another node wrote is checked here."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from nightshift.core.clock import Moment
from nightshift.core.errors import HubError
from nightshift.core.hub import HubPort, HubTask, NodeStatus, Signed
from nightshift.core.tasks.reasons import cause_first
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Spent
from nightshift.server.query import Id, Query
from nightshift.server.schemas import Answer

MOST_TASKS = 200
NodeState = Literal["up", "draining", "lost", "removed"]


class HubNode(Answer):
    """A node. `busy` of its `slots` are at work, `held` tasks are its own; `says` is what it says of itself, in a line.

    `state` is `lost` where it was not heard of for longer than it holds tasks for, and `removed` where the owner of the
    hub has removed it; `url` leads to its dashboard, and is empty where it gave none that can be linked.
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
    joined_at: Moment


class HubOwn(Answer):
    """The machine that answers, as a node; `id` is null until it has joined for the first time."""

    id: str | None
    name: str


class HubState(Answer):
    """The hub; where it is not `reachable`, `reason` says why and there are neither nodes nor counts.

    `paused` is why no node takes a task (it may be empty), null where they do. `counts` leaves out zeros. `ui` is the
    address of Temporal's own page, where the settings of the server are the usual ones.
    """

    own: HubOwn
    reachable: bool
    reason: str
    ui: str
    paused: str | None
    counts: dict[Status, int]
    nodes: list[HubNode]


class HubTaskRow(Answer):
    """A task of the hub. `node` has it or had it last, `origin` is where it was submitted; `…_task` are its ids there.

    `cause` is `reason` with the failure first that was left at the end. `signed` tells whether the node that had it
    signed how it ended, null while it has not.

    `node_page` is its page on the dashboard of the node that has it, `origin_page` that where it was submitted; null
    where there is none.
    """

    id: int
    title: str
    repository: str
    needs: tuple[str, ...]
    priority: int
    status: Status
    ending: Ending | None
    reason: str
    cause: str
    attempt: int
    cancel_requested: bool
    node: str | None
    node_name: str | None
    node_task: int | None
    node_page: str | None
    origin: str
    origin_name: str
    origin_task: int | None
    origin_page: str | None
    commit: str | None
    branch: str | None
    spent: Spent
    signed: Signed | None
    not_before: Moment | None
    created_at: Moment
    claimed_at: Moment | None
    ended_at: Moment | None


class HubTasks(Answer):
    """A page of tasks: open ones, then the newest that ended; `next_after` gives the next one, null behind the last."""

    tasks: list[HubTaskRow]
    next_after: int | None


class HubTasksQuery(Query):
    """Selection of tasks to list."""

    status: Status | None = Field(None, description="only those of this status")
    limit: int = Field(50, ge=1, le=MOST_TASKS)
    after: Id | None = Field(None, description="the last id of the page before")


class HubActed(Answer):
    """How a task stands after what was asked for; one that a node has is cancelled by that node, a moment later."""

    id: int
    status: Status


class HubPauseIn(BaseModel):
    """Why no node shall take a task."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("", max_length=1000)


class HubPaused(Answer):
    """Why no node takes a task; null where they do."""

    paused: str | None


class HubDrainIn(BaseModel):
    """Whether a node shall take nothing new."""

    model_config = ConfigDict(extra="forbid")

    draining: StrictBool = True


class HubDrained(Answer):
    """Node and whether it takes no more tasks."""

    id: str
    name: str
    draining: bool


def state_of(hub: HubPort) -> HubState:
    """The hub as it is now, also while it is away.

    Raises:
        ExtraMissing: the packages that speak with it are not installed.
    """
    here = hub.own()
    own, ui = HubOwn.from_values(here), linkable(here.ui)
    try:
        overview = hub.overview()
    except HubError as error:
        return HubState(own=own, reachable=False, reason=str(error), ui=ui, paused=None, counts={}, nodes=[])
    return HubState(
        own=own, reachable=True, reason="", ui=ui, paused=overview.paused,
        counts={status: count for status, count in overview.counts.items() if count},
        nodes=[_node(node) for node in overview.nodes],
    )  # fmt: skip


def tasks_of(hub: HubPort, query: HubTasksQuery) -> HubTasks:
    """A page of its tasks.

    Raises:
        HubError: it cannot be asked.
    """
    tasks = hub.tasks(query.status, query.limit, query.after)
    rows = [_task(task, signed) for task, signed in tasks]
    return HubTasks(tasks=rows, next_after=rows[-1].id if len(rows) == query.limit else None)


def linkable(url: str) -> str:
    """The address of a dashboard as another node gave it, without its last slash; empty where it is no web address."""
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
    return HubTaskRow.from_values(
        task,
        cause=cause_first(task.reason),
        signed=signed,
        node_page=_page(task.node_url, task.node_task),
        origin_page=_page(task.origin_url, task.origin_task),
    )


def _page(url: str | None, number: int | None) -> str | None:
    site = linkable(url or "")
    return f"{site}/task/{number}" if site and number is not None else None
