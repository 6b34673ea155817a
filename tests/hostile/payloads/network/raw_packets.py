"""Opens a socket that sees and sends raw packets."""

import ctypes
import socket


def attack(facts: dict[str, str]) -> None:
    try:
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    except OSError:
        ctypes.CDLL(None).unshare(0x50000000)
        out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    if out.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) == socket.AF_PACKET:
        print("carried", facts["challenge"])
