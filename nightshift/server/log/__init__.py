"""Serves the log: filtered pages, the live stream and the download."""
