"""Creates a task that waits for its owner's decisions, using the real queue."""

from __future__ import annotations

from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.task import Task
from nightshift.queue.manager import QueueManager


def package(name: str, text: str = "") -> Ask:
    """Return the question whether the task may use a package."""
    question = f"May the task use the package {name}?{text}"
    return Ask(kind=AskKind.PACKAGE, subject=f"package:{name}{text}", question=question)


def wait_for(queue: QueueManager, *asks: Ask) -> Task:
    """Claim the next task and let it wait for the owner's answers to these questions."""
    task = queue.claim("worker-1").result()
    assert task is not None
    return queue.wait_for_owner(task.id, task.fence, "waits for your decision", asks).result()
