"""Asks the kernel for its network devices through a netlink socket, which is meant for administrators."""

import socket
import struct


def attack(facts: dict[str, str]) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as out:
        out.settimeout(0.5)
        out.send(struct.pack("=IHHII16x", 32, 18, 0x301, 1, 0))  # RTM_GETLINK, all devices
        if b"lo\0" in out.recv(1 << 16):
            print("carried", facts["challenge"])
