"""Sends a datagram to an abstract socket, without a connection."""

import socket


def attack(facts: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.sendto(b"secret", facts["abstract_datagrams"].replace("@", "\0"))
