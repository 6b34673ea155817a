"""Connects to a server on the host, by each address that the host may have."""

import socket


def attack(facts: dict[str, str]) -> None:
    for address in ("127.0.0.1", "localhost", "0.0.0.0", "host.docker.internal", "172.17.0.1", "10.0.2.2"):
        try:
            socket.create_connection((address, int(facts["tcp"])), 0.5).close()
            return
        except OSError as error:
            print(address, error)
