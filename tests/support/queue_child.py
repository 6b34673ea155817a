"""A child process that uses the queue, for tests that kill it: `python -m tests.support.queue_child ROLE FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import TaskSpec
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog


def produce(queue: QueueManager) -> None:
    """Submit tasks until the process is killed, and print the id of each task whose submission was acknowledged."""
    number = 0
    while True:
        print(queue.submit(TaskSpec(description=f"task {number}")).result().task_id, flush=True)
        number += 1


def consume(queue: QueueManager) -> None:
    """Claim and finish tasks until none is left. Print a line for each claim and for each end that was acknowledged."""
    while (task := queue.claim("child").result()) is not None:
        print("claimed", task.id, flush=True)
        queue.finish(task.id, task.fence, Ending.COMMITTED).result()
        print("done", task.id, flush=True)


if __name__ == "__main__":
    with Database(Path(sys.argv[2])) as db:
        {"produce": produce, "consume": consume}[sys.argv[1]](QueueManager(db, EventLog(db)))
