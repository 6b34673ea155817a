"""Locks memory, which then cannot be swapped out."""

import ctypes
import time


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size = 2 << 20
    address = libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, 0)
    if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)):
        raise OSError(ctypes.get_errno(), "not locked")
    time.sleep(0.35)
