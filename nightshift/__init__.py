"""An autonomous coding agent that works while its owner is away."""
