"""The command line: its arguments and commands, the client of the daemon's API, and the interactive prompt."""
