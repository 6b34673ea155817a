"""Connects to a server of the host's by the newer protocol."""

import socket


def attack(facts: dict[str, str]) -> None:
    socket.create_connection(("::1", int(facts["tcp6"])), 0.5).close()
