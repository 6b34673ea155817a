"""The way of a commit to a branch that several nodes move: one node at a time, and several commits together.

Two things make that safe. A lock in the hub's database, so that nodes do not judge merged trees that another one makes
stale; it ends with its connection, whatever becomes of the node. And the remote, which moves its branch by
compare-and-swap alone (`git.sharing`). Before that the hub confirms that the task is still this node's, for as long
as a lease lasts: whoever was overtaken lands nothing.

Who waits for the lock stands in the hub's merge queue meanwhile, and whoever has it may land those that wait as well
(`attempt.merge_queue`), as bors and Zuul do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import HubError, LeaseLost, Parked, StaleFence
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.remote.hub.connection import HubConnections, NamedLock
from nightshift.remote.hub.queue import Held, HubQueue
from nightshift.remote.hub.signing import NodeKey, is_signed, offered_text
from nightshift.storage.db.codec import decode

AGAIN_S = 15.0
"""While the hub is away, a task that is ready to land is tried again after so long."""
MOST_TOGETHER = 8
Offer = Callable[[], Awaitable[tuple[str, str]]]
_FIRST_S, _LONGEST_S = 0.02, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A commit in the merge queue, on a branch of its own at the remote; `task_id` is the hub's number."""

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
    """The result of the wait: `landed` is the commit as another node landed it, else this node moves the branch.

    `line` names the branch, `others` wait for it too and may be judged in one run with this one.
    """

    line: str
    landed: str | None = None
    others: tuple[Waiting, ...] = ()


class Landing:
    """The lock and the queue behind it, for attempts on the workers' loop.

    Args:
        connections: of the hub.
        hub: the queue, which confirms tasks.
        key: signs what other nodes may land; what they offer is looked at in the same way.
        line: the name that a workspace's target has for all nodes; called on a thread.
        lease_s: for how long nobody else can take what is about to land, in seconds.
        report: is told, in a sentence, what is not landed since its signature is not its node's.
        clock: the time.
    """

    def __init__(
        self,
        connections: HubConnections,
        hub: HubQueue,
        key: NodeKey,
        line: Callable[[Workspace], str],
        lease_s: float,
        report: Callable[[str], None],
        clock: Clock = utc_now,
    ) -> None:
        self._connections, self._hub, self._line, self._lease_s = connections, hub, line, lease_s
        self._key, self._report, self._clock = key, report, clock

    @asynccontextmanager
    async def turn(
        self, task: Task, workspace: Workspace, offer: Offer | None = None, kind: str = ""
    ) -> AsyncIterator[Turn]:
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
        held = Held(task_id=task.hub_id or 0, fence=task.hub_fence or 0)
        try:
            line = await asyncio.to_thread(self._line, workspace)
            lock = await asyncio.to_thread(self._connections.lock, line)
            try:
                landed, alone = None, False
                if not await asyncio.to_thread(lock.taken):
                    if offer:
                        await asyncio.to_thread(self._offer, held, line, *await offer(), kind)
                    landed, alone = await self._wait(lock, held, queued=offer is not None)
                await asyncio.to_thread(self._hub.confirm, held)
                others = () if alone or landed or not kind else await asyncio.to_thread(self.others, line, kind, held)
                yield Turn(line=line, landed=landed, others=others)
            finally:
                await asyncio.shield(asyncio.to_thread(self._leave, lock, held, queued=offer is not None))
        except StaleFence:
            raise LeaseLost from None
        except HubError as error:
            until = self._clock() + timedelta(seconds=AGAIN_S)
            raise Parked(f"it is ready to land, and waits for the hub: {error}", until) from error

    async def end(self, line: str, landed: Mapping[int, str | None]) -> None:
        """Tell who waited under which commit each landed, by the hub's numbers; None: it has to be landed alone."""
        await asyncio.to_thread(self._hub.end_landings, line, landed)

    async def _wait(self, lock: NamedLock, held: Held, *, queued: bool) -> tuple[str | None, bool]:
        """Wait for the lock, or until another node has landed the commit; that one, and whether it has to be alone."""
        wait_s = _FIRST_S
        while True:
            is_ours = await asyncio.to_thread(lock.taken)
            landed, alone = await asyncio.to_thread(self._hub.landing_of, held) if queued else (None, False)
            if is_ours or landed:
                return landed, alone
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_S)

    def _offer(self, held: Held, line: str, commit: str, branch: str, kind: str) -> None:
        text = offered_text(self._hub.node, held.task_id, line, commit, branch)
        self._hub.queue_landing(held, line, commit, branch, kind, self._key.sign(text))

    def others(self, line: str, kind: str, held: Held) -> tuple[Waiting, ...]:
        """List the offers of other tasks for the branch; an offer without its node's signature lands alone."""
        rows = self._connections.rows(
            "SELECT * FROM offered_landings(%s, %s, %s, %s)", (line, kind, MOST_TOGETHER, self._lease_s)
        )
        others = [row for row in rows if row["task"] != held.task_id]
        sound = [row for row in others if self._is_offered(row, line)]
        self._hub.end_landings(line, {row["task"]: None for row in others if row not in sound})
        return tuple(
            Waiting(
                task_id=row["task"], commit=row["commit_id"], branch=row["branch"], spec=decode(TaskSpec, row["spec"])
            )
            for row in sound
        )

    def _is_offered(self, row: Mapping[str, Any], line: str) -> bool:
        """Whether the node that has the task signed the offer; one of an older version signs none."""
        text = offered_text(row["node"], row["task"], line, row["commit_id"], row["branch"])
        if is_signed(row["public_key"], text, row["signature"]):
            return True
        if row["signature"]:
            self._report(f"task {row['task']} of the hub is not landed here: the offer is not signed by {row['name']}")
        return False

    def _leave(self, lock: NamedLock, held: Held, *, queued: bool) -> None:
        try:
            if queued:
                self._hub.leave_landing(held)
        except HubError:
            return  # a row of a task that does not run any more is never taken
        finally:
            lock.close()
