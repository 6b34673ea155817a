"""The command line: its options, the client of the daemon's API, each command's action, the interactive prompt."""
