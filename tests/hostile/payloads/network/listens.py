"""Listens on an address where a program outside may connect, and sends a secret to that program."""

import socket


def attack(facts: dict[str, str]) -> None:
    with socket.create_server(("0.0.0.0", int(facts["free_port"]))) as server:
        server.settimeout(0.5)
        caller, _ = server.accept()
        caller.sendall(facts["challenge"].encode())
        caller.close()
