"""One attempt at a task, end to end: what `task_executor` puts to work."""
