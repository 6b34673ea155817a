"""Values and ports for the hub, which several machines share. This module needs no server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from nightshift.core.clock import Moment
from nightshift.core.errors import NightshiftError
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Spent, Task, TaskSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTask:
    """A task on the hub, as any node can read it.

    `node` and `origin` are the ids of the node that works on the task and of the node that submitted it; the names and
    addresses are those of the same nodes. `node_task` and `origin_task` are the task's numbers on these nodes, if
    known.
    """

    id: int
    title: str
    repository: str
    needs: tuple[str, ...]
    priority: int
    status: Status
    ending: Ending | None
    reason: str
    attempt: int
    node: str | None
    node_name: str | None
    node_url: str | None
    node_task: int | None
    origin: str
    origin_name: str
    origin_url: str
    origin_task: int | None
    not_before: Moment | None
    cancel_requested: bool
    commit: str | None
    branch: str | None
    iterations: int
    spent: Spent
    signature: str
    asks: str
    created_at: Moment
    claimed_at: Moment | None
    ended_at: Moment | None


class Signed(StrEnum):
    """The outcome of checking the signature on a task's result."""

    VALID = "valid"
    NOT_VALID = "not valid"
    UNKNOWN = "unknown"
    """There is nothing to check: the task did not end on a node, or the node's key is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A node, as any other node can read it.

    `is_up` is True if the node reported within its lease. `held` is the number of tasks that the node has.
    """

    id: str
    name: str
    public_key: str
    labels: tuple[str, ...]
    slots: int
    busy: int
    held: int
    state: str
    url: str
    version: str
    draining: bool
    is_up: bool
    is_removed: bool
    unseen_s: float
    joined_at: Moment
    seen_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The nodes of the hub, the number of tasks by status, and the pause.

    `paused` is the reason of the pause, which may be an empty text. None means that there is no pause, so nodes claim
    tasks.
    """

    nodes: tuple[NodeStatus, ...]
    counts: Mapping[Status, int]
    paused: str | None

    @property
    def lost(self) -> tuple[NodeStatus, ...]:
        """Nodes that are down, although they are neither draining nor removed."""
        return tuple(node for node in self.nodes if not (node.is_up or node.draining or node.is_removed))

    @property
    def belonging(self) -> tuple[NodeStatus, ...]:
        """All nodes that have not been removed."""
        return tuple(node for node in self.nodes if not node.is_removed)

    @property
    def up(self) -> tuple[NodeStatus, ...]:
        """Nodes that are up."""
        return tuple(node for node in self.nodes if node.is_up)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the nodes that are up."""
        return tuple(sorted({node.version for node in self.up}))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNode:
    """The local machine as a node.

    `id` is None until the node has joined the hub. `ui` is the address of the hub's own page.
    """

    id: str | None
    name: str
    ui: str = ""


class NoHub(NightshiftError):
    """The settings do not name a hub."""

    def __init__(self) -> None:
        super().__init__("this machine belongs to no hub: HUB_URL is not set")


class HubAct(StrEnum):
    """An owner's action on a shared task."""

    CANCEL = "cancel"
    RETRY = "retry"
    PRIORITISE = "prioritise"


class Hub(Protocol):
    """The hub as the pages use it. Methods may be called from any thread, and wait at most some seconds.

    Each method may raise `HubAway`, `HubRefused` and `ExtraMissing`.
    """

    def own(self) -> OwnNode:
        """Return this machine's node; never fails."""
        ...

    def overview(self) -> Overview:
        """Return the nodes, the counts of tasks and the pause."""
        ...

    def tasks(self, status: Status | None, limit: int, after: int | None) -> Sequence[tuple[HubTask, Signed | None]]:
        """Return tasks, each with the result of its signature check.

        Open tasks come first, then the most recently ended tasks.
        """
        ...

    def act(self, act: HubAct, task_id: int, priority: int = 0) -> Status:
        """Act on a task and return the task's new status. Raises `UnknownTask` and `IllegalMove`."""
        ...

    def pause(self, reason: str | None) -> None:
        """Stop all nodes from claiming tasks for a reason, or let them claim tasks again if the reason is None."""
        ...

    def drain(self, node: str, *, draining: bool) -> NodeStatus:
        """Stop a node from claiming new tasks, or let it claim tasks again. Raises `UnknownNode`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """The state that this node reports to the hub.

    It contains whether the node claims tasks now, how many tasks it runs at once, and a description of the node in one
    line.
    """

    takes: bool
    slots: int
    says: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A commit that waits for its turn, on its own branch at the remote. `task_id` is the task's number on the hub."""

    task_id: int
    commit: str
    branch: str
    spec: TaskSpec

    @property
    def mark(self) -> str:
        """The name that the commit gives its task."""
        return f"hub-{self.task_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A task's turn to move a branch. `line` identifies the branch.

    `landed` is the task's commit if another node has already landed that commit. If `landed` is None, this node may
    move the branch. `others` are commits that wait for the same branch and may be judged in one run with this task's
    commit.
    """

    line: str
    landed: str | None = None
    others: tuple[Waiting, ...] = ()


Offer = Callable[[], Awaitable[tuple[str, str]]]


class LandingPort(Protocol):
    """Gives tasks their turns to move a branch that several nodes share."""

    def turn(
        self, task: Task, workspace: Workspace, offer: Offer | None = None, kind: str = ""
    ) -> AbstractAsyncContextManager[Turn]:
        """Keep all other nodes from moving the workspace's target while the block runs.

        Args:
            task: The task whose turn it is.
            workspace: The workspace whose target is to be moved.
            offer: Called if the task has to wait. It pushes the commit to the remote, so that another node can land it,
                and returns the commit's id and its branch there. None: other nodes cannot land the commit.
            kind: Commits of the same kind may be judged in one run; a commit with an empty kind is judged alone.

        Raises:
            Parked: The hub cannot be reached.
            LeaseLost: The task belongs to another node now.
        """
        ...

    async def end(self, line: str, landed: Mapping[int, str | None]) -> None:
        """Report with which commit each waiting task landed; `landed` has the tasks' numbers on the hub as its keys.

        None instead of a commit means that the task must land alone.
        """
        ...
