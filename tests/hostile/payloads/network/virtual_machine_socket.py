"""Opens a socket to the machine that hosts this one; network namespaces do not cover such sockets."""

import socket


def attack(facts: dict[str, str]) -> None:
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as out:
        if out.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) == socket.AF_VSOCK:
            print("carried", facts["challenge"])
