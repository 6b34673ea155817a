"""Connects to the socket of a service of the owner's, which lies in a folder."""

import socket


def attack(facts: dict[str, str]) -> None:
    for path in (facts["unix"], "/proc/1/root" + facts["unix"]):
        try:
            with socket.socket(socket.AF_UNIX) as out:
                out.connect(path)
                return
        except OSError as error:
            print(error)
