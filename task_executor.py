"""The workers that take tasks from the queue. Behind it is `nightshift/attempt/pool.py`."""

from nightshift.attempt.pool import TaskExecutor

__all__ = ["TaskExecutor"]
