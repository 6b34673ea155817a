"""Runs the server: its sockets, its thread and loop, and the HTTP engine."""
