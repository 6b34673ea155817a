"""Maintenance of a daemon that runs for months: instance lock, saved state, checkpoints, backups, pruning, notices."""
