"""Leaves a process that listens on the loopback and sends a secret to every client."""

import os
import socket


def leave(facts: dict[str, str]) -> None:
    server = socket.create_server(("127.0.0.1", int(facts["free_port"])))
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
    with socket.create_connection(("127.0.0.1", int(facts["free_port"])), 1) as out:
        print(out.recv(100))
