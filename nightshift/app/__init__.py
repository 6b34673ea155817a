"""The composition root: makes every service from the settings, and runs the daemon, one task, or a command."""
