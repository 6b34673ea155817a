"""Finds the commands that test, lint and type-check a repository in the text of its files, without executing any."""
