"""Notifies the owner: a command gets the notice on its standard input, the desktop shows it, or a URL receives it."""
