"""The workers that claim tasks from the queue, and the loop for use from your own program.

The implementation is `nightshift/attempt/pool.py` and `nightshift/app/coder.py`.
"""

from nightshift.app.coder import AutonomousCoder
from nightshift.attempt.pool import TaskExecutor

__all__ = ["AutonomousCoder", "TaskExecutor"]
