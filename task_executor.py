"""The workers that claim tasks from the queue, and the agent loop, which your own program can call.

The implementation is `nightshift/attempt/pool.py` and `nightshift/app/coder.py`.
"""

from nightshift.app.coder import AutonomousCoder
from nightshift.attempt.pool import TaskExecutor

__all__ = ["AutonomousCoder", "TaskExecutor"]
