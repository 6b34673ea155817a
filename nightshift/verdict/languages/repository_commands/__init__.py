"""Finds how a repository is tested, linted and typed in the text of its files, none of which is executed."""
