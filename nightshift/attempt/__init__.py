"""One attempt at a task, from opening the repository to the end; the workers of `pool` carry attempts out."""
