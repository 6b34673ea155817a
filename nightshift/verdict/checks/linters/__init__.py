"""The linters and type checkers of a repository, as checks of a change: run inside the sandbox, read outside of it."""
