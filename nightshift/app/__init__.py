"""The composition root: makes every service from the settings and runs the daemon, a single task or a command."""
