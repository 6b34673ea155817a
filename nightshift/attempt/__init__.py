"""One attempt at a task, end to end: the work that the workers of `pool` carry out."""
