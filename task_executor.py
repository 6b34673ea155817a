"""The workers that take tasks from the queue, and the loop for a program of one's own.

Behind it is `nightshift/attempt/pool.py` and `nightshift/app/coder.py`.
"""

from nightshift.app.coder import AutonomousCoder
from nightshift.attempt.pool import TaskExecutor

__all__ = ["AutonomousCoder", "TaskExecutor"]
