"""Checks changes with the linters and type checkers of a repository, which run inside the sandbox."""
