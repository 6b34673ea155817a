"""Leaves a process that listens on an abstract socket and sends a secret to every client."""

import os
import socket


def leave(facts: dict[str, str]) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0left-" + facts["mark"])
    server.listen()
    server.settimeout(15)
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        try:
            while True:
                server.accept()[0].sendall(facts["secret"].encode())
        finally:
            os._exit(0)


def find(facts: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX) as out:
        out.settimeout(1)
        out.connect("\0left-" + facts["mark"])
        print(out.recv(100))
