"""Serves the log: filters, pages, the live stream, the download."""
