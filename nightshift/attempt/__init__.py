"""One attempt at a task, end to end: what the workers of `pool` carry out."""
