"""A node's Temporal workers. They advance workflows, and take attempts while the node has free workers of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerTuner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner

from nightshift.remote.hub.connection import HubConnection, describe
from nightshift.remote.hub.queue import Held, heartbeat
from nightshift.remote.hub.workflows import ALL, WORKFLOWS, Assignment, Facts, Outcome, workflow_of

LOOK_S = 5.0
"""Seconds after which the free slots are counted again if no event has woken the supplier."""
_AT_ONCE = 20


def workflow_worker(client: Client, *, is_short: bool = False) -> Worker:
    """Return a Temporal worker that advances the hub's workflows. With `is_short`, it caches no workflows."""

    @activity.defn(name="standing")
    async def standing(task_id: int) -> str:
        described = await describe(client, workflow_of(task_id))
        return (await described.memo_value("task", type_hint=Facts)).status if described else ""

    return Worker(
        client,
        task_queue=WORKFLOWS,
        workflows=ALL,
        activities=[] if is_short else [standing],
        workflow_runner=UnsandboxedWorkflowRunner() if is_short else SandboxedWorkflowRunner(),
        max_cached_workflows=0 if is_short else 1000,
        max_concurrent_workflow_tasks=_AT_ONCE,
        max_concurrent_activities=_AT_ONCE,
    )


@contextmanager
def workflows_served(connection: HubConnection) -> Iterator[None]:
    """Advance the hub's workflows during the block, as each node does. For commands that run while no node is running.

    Raises:
        HubAway: the server cannot be reached.
        HubRefused: the server refuses.
    """

    async def start(client: Client) -> tuple[Worker, asyncio.Task[None]]:
        worker = workflow_worker(client, is_short=True)
        return worker, asyncio.create_task(worker.run())

    async def stop(_: Client) -> None:
        await worker.shutdown()
        await asyncio.gather(running, return_exceptions=True)

    worker, running = connection.call(start)
    try:
        yield
    finally:
        connection.call(stop)


class FreeSlots(CustomSlotSupplier):
    """Supplies slots for attempts: as many as the node has free workers.

    The slots are shared by the Temporal workers of all task queues.

    Args:
        free: returns how many attempts the node could take now; called on the loop of the hub's client.
    """

    def __init__(self, free: Callable[[], int]) -> None:
        self._free, self._lock, self._used = free, threading.Lock(), 0
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Count the free slots again. May be called in any thread."""
        self._loop.call_soon_threadsafe(self._changed.set)

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:  # noqa: ARG002  the SDK's signature
        """Wait until the node has a free worker."""
        while self._free() <= self._used:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), LOOK_S)
            except TimeoutError:
                continue
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:  # noqa: ARG002  as above
        """Return None, which refuses a slot, so that no attempt bypasses the order of the queue."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:  # noqa: ARG002  as above
        """Count an attempt that was taken but is not in the local queue yet."""
        with self._lock:
            self._used += 1

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """Stop counting the attempt, because it is in the local queue or was refused."""
        if ctx.slot_info is not None:
            with self._lock:
                self._used -= 1
            self.wake()


class NodeWorkers:
    """All Temporal workers of a node. Used on the loop of the hub's client.

    Args:
        client: the hub's client.
        free: see `FreeSlots`.
        take: adds an attempt to the local queue, in a thread; returns an outcome if the node cannot take the attempt.
        lease_s: the lease, in seconds.
    """

    def __init__(
        self, client: Client, free: Callable[[], int], take: Callable[[Assignment], Outcome | None], lease_s: float
    ) -> None:
        self._client, self._take, self._lease_s = client, take, lease_s
        self._held, self._lost = frozenset[Held](), frozenset[Held]()
        self._beating = asyncio.create_task(self._beat())
        self.slots = FreeSlots(free)
        self._workers = dict[str, tuple[Worker, asyncio.Task[None]]]()
        self._begin(WORKFLOWS, workflow_worker(client))

    def poll(self, queues: Collection[str]) -> None:
        """Also take attempts from these task queues."""
        fixed = FixedSizeSlotSupplier(1)
        for queue in sorted(set(queues) - self._workers.keys()):
            worker = Worker(
                self._client,
                task_queue=queue,
                activities=[self._attempt],
                tuner=WorkerTuner.create_composite(
                    workflow_supplier=fixed, activity_supplier=self.slots, local_activity_supplier=fixed,
                    nexus_supplier=fixed,
                ),
                max_concurrent_activity_task_polls=1,
                graceful_shutdown_timeout=timedelta(0),
            )  # fmt: skip
            self._begin(queue, worker)

    def hold(self, held: Collection[Held]) -> frozenset[Held]:
        """Renew the leases of exactly these tasks from now on; return the tasks whose lease was lost.

        The leases are renewed even while the dispatcher is busy.
        """
        self._held = frozenset(held)
        return self._held & self._lost

    async def _beat(self) -> None:
        while True:
            held = list(self._held - self._lost)
            answers = await asyncio.gather(*(heartbeat(self._client, task) for task in held), return_exceptions=True)
            lost = {task for task, is_held in zip(held, answers, strict=True) if is_held is False}
            self._lost = (self._lost & self._held) | lost
            await asyncio.sleep(self._lease_s / 3)

    @property
    def fault(self) -> BaseException | None:
        """The reason why a worker ended; None while all are running."""
        ended = [running for _, running in self._workers.values() if running.done() and not running.cancelled()]
        return next((running.exception() or RuntimeError("a worker ended") for running in ended), None)

    async def stop(self) -> None:
        """Stop all workers."""
        self._beating.cancel()
        workers, self._workers = list(self._workers.values()), {}
        await asyncio.gather(*(worker.shutdown() for worker, running in workers if not running.done()))
        await asyncio.gather(*(running for _, running in workers), return_exceptions=True)

    def _begin(self, queue: str, worker: Worker) -> None:
        self._workers[queue] = worker, asyncio.create_task(worker.run())

    @activity.defn(name="attempt")
    async def _attempt(self, assignment: Assignment) -> Outcome:
        """Add the attempt to the local queue. The dispatcher completes the activity when the attempt has ended."""
        taking = asyncio.ensure_future(asyncio.to_thread(self._take, assignment))
        self._lease_s = min(self._lease_s, assignment.request.lease_s)  # the lease of the submitting node
        while not (await asyncio.wait({taking}, timeout=self._lease_s / 3))[0]:
            activity.heartbeat()
        outcome = taking.result()
        if outcome is None:
            self._held |= {Held(task_id=assignment.request.id, fence=assignment.fence)}
            activity.raise_complete_async()
        return outcome
