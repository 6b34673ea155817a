"""The upkeep of a daemon that runs for months: one instance, saved state, checkpoints."""
