"""One node at a time moves the branch of a repository that several share.

Two things make that true. A lock in the hub's database, so that nodes do not judge merged trees that another one makes
stale; it ends with its connection, whatever becomes of the node. And the remote, which moves its branch by
compare-and-swap alone (`gitrepo.sharing`). Before that the hub confirms that the task is still this node's, for as long
as a lease lasts: whoever was overtaken lands nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from core.clock import Clock, utc_now
from core.errors import HubError, LeaseLost, Parked, StaleFence
from core.revisions import Workspace
from core.tasks import Task
from hub.connection import HubConnections
from hub.queue import Held, HubQueue

AGAIN_S = 15.0
"""While the hub is away, a task that is ready to land is tried again after so long."""
_FIRST_S, _LONGEST_S = 0.02, 0.5


class Landing:
    """The lock, for attempts on the workers' loop.

    Args:
        connections: of the hub.
        hub: the queue, which confirms tasks.
        address: the name that a workspace's repository has for all nodes; called on a thread.
        clock: the time.
    """

    def __init__(
        self, connections: HubConnections, hub: HubQueue, address: Callable[[Workspace], str], clock: Clock = utc_now
    ) -> None:
        self._connections, self._hub, self._address, self._clock = connections, hub, address, clock

    @asynccontextmanager
    async def __call__(self, task: Task, workspace: Workspace) -> AsyncIterator[None]:
        """While the block lasts, no other node moves the target of the workspace.

        Raises:
            Parked: the hub cannot be reached.
            LeaseLost: the task is another node's now.
        """
        held = Held(task_id=task.hub_id or 0, fence=task.hub_fence or 0)
        try:
            name = await asyncio.to_thread(self._address, workspace)
            lock = await asyncio.to_thread(self._connections.lock, name)
            try:
                wait_s = _FIRST_S
                while not await asyncio.to_thread(lock.taken):
                    await asyncio.sleep(wait_s)
                    wait_s = min(2 * wait_s, _LONGEST_S)
                await asyncio.to_thread(self._hub.confirm, held)
                yield
            finally:
                await asyncio.shield(asyncio.to_thread(lock.close))
        except StaleFence:
            raise LeaseLost from None
        except HubError as error:
            until = self._clock() + timedelta(seconds=AGAIN_S)
            raise Parked(f"it is ready to land, and waits for the hub: {error}", until) from error
