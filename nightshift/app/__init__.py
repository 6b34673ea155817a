"""The composition root: creates every service from the settings and runs the daemon, a single task or a command."""
