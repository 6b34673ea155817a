"""One attempt at a task, end to end: the parts that `task_executor` puts to work."""
