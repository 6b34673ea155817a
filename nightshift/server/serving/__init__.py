"""Runs the server: its sockets, its thread and loop, and the engine under it."""
