"""What a task is: its specification, states, limits, verdicts, and what its owner is asked."""
