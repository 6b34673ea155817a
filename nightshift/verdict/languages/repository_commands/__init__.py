"""Finds the commands that test, lint and type-check a repository. The files are only read; nothing is executed."""
