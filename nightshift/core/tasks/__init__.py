"""Tasks: specification, states, limits, verdicts, and questions to the owner."""
