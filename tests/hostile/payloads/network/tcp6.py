"""Connects to a server on the host over IPv6."""

import socket


def attack(facts: dict[str, str]) -> None:
    socket.create_connection(("::1", int(facts["tcp6"])), 0.5).close()
