"""Runs the server: its sockets, its thread with an event loop, and the HTTP engine."""
