"""Connects to a server of the host's by the newer protocol."""

import socket


def attack(told: dict[str, str]) -> None:
    socket.create_connection(("::1", int(told["tcp6"])), 0.5).close()
