"""Handles its own page faults, as many attacks on the kernel do."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.syscall(323, 1)  # faults of user mode only, which need no privilege
    if number < 0:
        raise OSError(ctypes.get_errno(), "no page faults")
    if os.readlink(f"/proc/self/fd/{number}") == "anon_inode:[userfaultfd]":
        print("carried", facts["challenge"])
