"""Tasks: their specification, states, limits, verdicts and questions to the owner."""
