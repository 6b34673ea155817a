"""Tells the owner of what he must know: a command with the notice on its standard input, and a URL it is posted to."""
