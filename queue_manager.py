"""The task queue: the only writer of tasks. The implementation is `nightshift/queue/manager.py`."""

from nightshift.queue.manager import QueueManager

__all__ = ["QueueManager"]
