"""Connects to a socket that lies in no folder: only the network's namespace hides it."""

import socket


def attack(facts: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX) as out:
        out.connect(facts["abstract"].replace("@", "\0"))
