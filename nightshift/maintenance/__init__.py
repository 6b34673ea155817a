"""What keeps a daemon healthy while it runs for months: one instance, saved state, checkpoints."""
