"""Sends a secret in a datagram, which needs no answer."""

import socket


def attack(facts: dict[str, str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"secret", ("127.0.0.1", int(facts["udp"])))
