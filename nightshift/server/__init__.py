"""The HTTP server of one daemon: the dashboard, the API and the live stream of the log."""
