"""Connects to an abstract socket, which only a network namespace hides."""

import socket


def attack(facts: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX) as out:
        out.connect(facts["abstract"].replace("@", "\0"))
