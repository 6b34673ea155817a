"""The course of a task as the API tells it: tries, steps, verdicts, and forks from them."""
