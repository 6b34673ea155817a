"""Computes diffs: two states of files as hunks of highlighted lines."""
