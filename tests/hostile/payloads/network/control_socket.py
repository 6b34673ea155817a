"""Connects to the socket of a service of the owner's, which lies in a folder."""

import socket


def attack(told: dict[str, str]) -> None:
    for path in (told["unix"], "/proc/1/root" + told["unix"]):
        try:
            with socket.socket(socket.AF_UNIX) as out:
                out.connect(path)
                return
        except OSError as error:
            print(error)
