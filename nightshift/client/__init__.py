"""The command line: its options, the client of the daemon's API, what each action does, and the interactive prompt."""
