"""Moves commits onto a branch that several nodes share: one node at a time, and several commits together.

To land a commit is to judge the tree merged with the branch, and then to move the branch. Two mechanisms make that
safe. First, a workflow for each branch keeps the tasks that are ready to land in order. Only the node of the first task
may land (`remote.hub.workflows.LandingLine`), so no node judges a merged tree that another node makes stale. Second,
the remote moves its branch only by compare-and-swap (`git.sharing`). Before that, Temporal confirms that the attempt
belongs to this node for the duration of a lease, so a node that has lost its attempt lands nothing.

The node whose turn it is may also land the tasks that wait (`attempt.merge_queue`), as the merge queues of bors and
Zuul do.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio.client import WorkflowExecutionStatus
from temporalio.common import WorkflowIDConflictPolicy

from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import HubError, LeaseLost, Parked, StaleFence
from nightshift.core.hub import Offer, Turn, Waiting
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.remote.hub.connection import HubConnection, describe
from nightshift.remote.hub.nodes import keys as read_keys
from nightshift.remote.hub.queue import Held, HubQueue
from nightshift.remote.hub.signing import NodeKey, is_signed, make_offered_text
from nightshift.remote.hub.workflows import WORKFLOWS, Entry, Line
from nightshift.storage.db.codec import decode

if TYPE_CHECKING:
    from temporalio.client import Client

AGAIN_S = 15.0
"""Seconds after which a task that is ready to land tries again while the hub is unavailable."""
MOST_TOGETHER = 8
_FIRST_S, _LONGEST_S = 0.05, 1.0


class Landing:
    """Gives attempts their turns to land. Used on the workers' loop (`core.hub.LandingPort`).

    Args:
        connection: the connection to the hub.
        node: the id of this node.
        key: signs the commits that this node offers to others for landing.
        line: returns a name for the target branch of a workspace; called in a thread. All nodes get the same name.
        lease_s: seconds for which no other node can take the task that is about to land.
        report: called with a sentence about each offered commit that is not landed, because its node has not signed it.
        clock: returns the current time.
    """

    def __init__(
        self,
        connection: HubConnection,
        node: str,
        key: NodeKey,
        line: Callable[[Workspace], str],
        lease_s: float,
        report: Callable[[str], None],
        clock: Clock = utc_now,
    ) -> None:
        self._hub, self._queue, self._line, self._lease_s = connection, HubQueue(connection), line, lease_s
        self._node, self._key, self._report, self._clock = node, key, report, clock

    @asynccontextmanager
    async def turn(
        self, task: Task, workspace: Workspace, offer: Offer | None = None, kind: str = ""
    ) -> AsyncIterator[Turn]:
        """See `core.hub.LandingPort`."""
        held = Held(task_id=task.hub_id or 0, fence=task.hub_fence or 0)
        try:
            line = await asyncio.to_thread(self._line, workspace)
            await self._enter(line, held)
            renewing = asyncio.create_task(self._renew(line, held))
            try:
                entry, others = await self._wait(line, held, offer, kind)
                await asyncio.to_thread(self._queue.confirm, held)
                waiting = () if entry.is_alone or entry.landed_as or not kind else others
                yield Turn(line=line, landed=entry.landed_as, others=await self._sound(line, waiting, kind))
            finally:
                renewing.cancel()
                with suppress(HubError):  # a task that is not renewed loses its turn anyway
                    await asyncio.shield(self._signal(line, "leave", held.task_id, held.fence))
        except StaleFence:
            raise LeaseLost from None
        except HubError as error:
            until = self._clock() + timedelta(seconds=AGAIN_S)
            raise Parked(f"the task is ready to land, and waits for the hub: {error}", until) from error

    async def end(self, line: str, landed: Mapping[int, str | None]) -> None:
        """See `core.hub.LandingPort`."""
        await self._signal(line, "end", {str(number): commit for number, commit in landed.items()})

    async def entries(self, line: str) -> list[Entry]:
        """List the tasks that wait for a branch, in order. The turn belongs to the first task that has not landed."""

        async def read(client: Client) -> list[Entry]:
            described = await describe(client, _workflow(line))
            if described is None or described.status is not WorkflowExecutionStatus.RUNNING:
                return []
            return await described.memo_value("entries", list[Entry](), type_hint=list[Entry])

        return await asyncio.wrap_future(self._hub.begin(read))

    async def _wait(self, line: str, held: Held, offer: Offer | None, kind: str) -> tuple[Entry, list[Entry]]:
        """Wait for the turn, or until another node has landed the commit.

        Returns the task's own entry, and the entries that wait after it.
        """
        wait_s, is_offered = _FIRST_S, False
        while True:
            entries = await self.entries(line)
            mine = next(
                (entry for entry in entries if (entry.task_id, entry.fence) == (held.task_id, held.fence)), None
            )
            waiting = [entry for entry in entries if entry.landed_as is None]
            if mine and (mine.landed_as or waiting[0] == mine):
                return mine, waiting[1:]
            if mine and offer and not is_offered:
                is_offered, (commit, branch) = True, await offer()
                text = make_offered_text(self._node, held.task_id, line, commit, branch)
                signed = replace(mine, commit=commit, branch=branch, kind=kind, signature=self._key.sign(text))
                await self._signal(line, "enter", signed)
            if not mine and wait_s == _LONGEST_S:  # the entry expired without renewal
                is_offered = False
                await self._enter(line, held)
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_S)

    async def _enter(self, line: str, held: Held) -> None:
        await self._signal(line, "enter", Entry(task_id=held.task_id, fence=held.fence, node=self._node))

    async def _renew(self, line: str, held: Held) -> None:
        while True:
            await asyncio.sleep(self._lease_s / 3)
            with suppress(HubError):
                await self._signal(line, "renew", held.task_id, held.fence)

    async def _signal(self, line: str, name: str, *values: object) -> None:
        async def signal(client: Client) -> None:
            await client.start_workflow(
                "Landing", Line(lease_s=self._lease_s), id=_workflow(line), task_queue=WORKFLOWS,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING, start_signal=name,
                start_signal_args=list(values),
            )  # fmt: skip

        await asyncio.wrap_future(self._hub.begin(signal))

    async def _sound(self, line: str, entries: Sequence[Entry], kind: str) -> tuple[Waiting, ...]:
        """Return the offered commits that may land together with this task.

        Offers without a valid signature are left out.
        """
        offers = [entry for entry in entries if entry.kind == kind and entry.commit and not entry.is_alone]
        if not offers:
            return ()
        keys = await asyncio.to_thread(read_keys, self._hub)
        sound = [offer for offer in offers[:MOST_TOGETHER] if self._is_sound(offer, line, keys)]
        if others := {offer.task_id: None for offer in offers[:MOST_TOGETHER] if offer not in sound}:
            await self.end(line, others)
        requests = [await asyncio.to_thread(self._queue.request, offer.task_id) for offer in sound]
        return tuple(
            Waiting(
                task_id=offer.task_id, commit=offer.commit, branch=offer.branch, spec=decode(TaskSpec, request.spec)
            )
            for offer, request in zip(sound, requests, strict=True)
            if not request.blob
        )

    def _is_sound(self, offer: Entry, line: str, keys: Mapping[str, str]) -> bool:
        """Check whether the offer was signed by the node that has the task."""
        text = make_offered_text(offer.node, offer.task_id, line, offer.commit, offer.branch)
        if is_signed(keys.get(offer.node, ""), text, offer.signature):
            return True
        self._report(
            f"this node does not land task {offer.task_id} of the hub: the task's node has not signed the offer"
        )
        return False


def _workflow(line: str) -> str:
    return f"landing-{hashlib.sha256(line.encode()).hexdigest()[:16]}"
