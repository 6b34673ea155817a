"""Computes diffs of two states of files, as hunks of highlighted lines."""
