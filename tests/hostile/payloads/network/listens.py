"""Listens where a program outside may connect, and sends it a secret."""

import socket


def attack(facts: dict[str, str]) -> None:
    with socket.create_server(("0.0.0.0", int(facts["free_port"]))) as server:
        server.settimeout(0.5)
        caller, _ = server.accept()
        caller.sendall(facts["challenge"].encode())
        caller.close()
