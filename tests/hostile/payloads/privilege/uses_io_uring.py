"""Opens `io_uring`, through which calls reach the kernel unseen by filters."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.syscall(425, 4, (ctypes.c_uint8 * 256)())
    if number < 0:
        raise OSError(ctypes.get_errno(), "no ring")
    if os.readlink(f"/proc/self/fd/{number}") == "anon_inode:[io_uring]":
        print("carried", facts["challenge"])
