"""Connects to the Unix socket file of one of the owner's services."""

import socket


def attack(facts: dict[str, str]) -> None:
    for path in (facts["unix"], "/proc/1/root" + facts["unix"]):
        try:
            with socket.socket(socket.AF_UNIX) as out:
                out.connect(path)
                return
        except OSError as error:
            print(error)
