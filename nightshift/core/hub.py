"""The hub, which several machines share, as the rest of the program sees it: values and ports, and no server."""

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
    """A task as any node may read it. `node`, `origin`: ids of nodes; the names and addresses are theirs.

    `node_task` and `origin_task` are its numbers on these nodes, where they are known.
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
    """The finding of a signature on a result."""

    VALID = "valid"
    NOT_VALID = "not valid"
    UNKNOWN = "unknown"
    """No node's word: the task ended at no node, or nobody knows the node's key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A node as any other may read it. `is_up`: it was heard of within its lease; `held`: tasks that it has."""

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
    """Nodes, tasks by status, and the pause: its reason, which may be empty, and None where tasks are taken."""

    nodes: tuple[NodeStatus, ...]
    counts: Mapping[Status, int]
    paused: str | None

    @property
    def lost(self) -> tuple[NodeStatus, ...]:
        """Nodes that are not heard of; one that drains may go, one that was removed is gone."""
        return tuple(node for node in self.nodes if not (node.is_up or node.draining or node.is_removed))

    @property
    def belonging(self) -> tuple[NodeStatus, ...]:
        """All but those that were removed."""
        return tuple(node for node in self.nodes if not node.is_removed)

    @property
    def up(self) -> tuple[NodeStatus, ...]:
        """Nodes that are heard of."""
        return tuple(node for node in self.nodes if node.is_up)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the nodes that are heard of."""
        return tuple(sorted({node.version for node in self.up}))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNode:
    """The machine at hand, as a node; `id` is None until it has joined, `ui` the address of the hub's own page."""

    id: str | None
    name: str
    ui: str = ""


class NoHub(NightshiftError):
    """The settings name no hub."""

    def __init__(self) -> None:
        super().__init__("this machine belongs to no hub: HUB_URL is not set")


class HubAct(StrEnum):
    """An act of an owner on a shared task."""

    CANCEL = "cancel"
    RETRY = "retry"
    PRIORITISE = "prioritise"


class HubPort(Protocol):
    """The hub for any thread, which waits some seconds at most.

    Each method fails with `HubAway`, `HubRefused` and `ExtraMissing`.
    """

    def own(self) -> OwnNode:
        """Return the machine at hand, which fails with nothing."""
        ...

    def overview(self) -> Overview:
        """Return nodes, counts and the pause."""
        ...

    def tasks(self, status: Status | None, limit: int, after: int | None) -> Sequence[tuple[HubTask, Signed | None]]:
        """Return tasks, open ones first, then the newest that ended, with the finding on the signature of each."""
        ...


class HubSteering(Protocol):
    """The acts of owners on the hub; each method fails as those of `HubPort`."""

    def act(self, act: HubAct, task_id: int, priority: int = 0) -> Status:
        """Act on a task; its status then. Fails with `UnknownTask` and `IllegalMove`."""
        ...

    def pause(self, reason: str | None) -> None:
        """Let no node take a task; with None let nodes take tasks again."""
        ...

    def drain(self, node: str, *, draining: bool) -> NodeStatus:
        """Let a node take nothing new, or take tasks again. Fails with `UnknownNode`."""
        ...


class Hub(HubPort, HubSteering, Protocol):
    """The hub as pages read and steer it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """The state of this node for the hub: whether it takes tasks now, how many at once, and its state in a line."""

    takes: bool
    slots: int
    says: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A commit that waits for its turn, on a branch of its own at the remote; `task_id` is the hub's number."""

    task_id: int
    commit: str
    branch: str
    spec: TaskSpec

    @property
    def mark(self) -> str:
        """The name by which the commit names its task."""
        return f"hub-{self.task_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The turn of a task on a branch: `landed` is its commit as another node landed it; else this node may move it.

    `line` names the branch, `others` wait for it too and may be judged in one run with this one.
    """

    line: str
    landed: str | None = None
    others: tuple[Waiting, ...] = ()


Offer = Callable[[], Awaitable[tuple[str, str]]]


class LandingPort(Protocol):
    """The turns of a branch that several nodes move."""

    def turn(
        self, task: Task, workspace: Workspace, offer: Offer | None = None, kind: str = ""
    ) -> AbstractAsyncContextManager[Turn]:
        """While the block lasts, no other node moves the target of the workspace.

        Args:
            task: whose turn.
            workspace: its target is to be moved.
            offer: called where it has to wait: brings the commit to the remote, so that another node can land it;
                gives the commit's id and its branch there. None: nothing that others could land.
            kind: commits of the same kind may be judged in one run; empty: only alone.

        Raises:
            Parked: the hub cannot be reached.
            LeaseLost: the task is another node's now.
        """
        ...

    async def end(self, line: str, landed: Mapping[int, str | None]) -> None:
        """Tell who waited under which commit each landed, by the hub's numbers; None: it has to be landed alone."""
        ...
