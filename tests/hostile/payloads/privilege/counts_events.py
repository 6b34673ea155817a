"""Opens a counter of the kernel's, another door through which much came in."""

import ctypes
import os
import struct


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    kind = struct.pack("=IIQQQQQ80x", 1, 128, 1, 0, 0, 0, 1 << 5 | 1 << 6)  # software, task clock, not the kernel
    number = libc.syscall(298, kind, 0, -1, -1, 0)
    if number < 0:
        raise OSError(ctypes.get_errno(), "no counter")
    if "perf_event" in os.readlink(f"/proc/self/fd/{number}"):
        print("carried", facts["challenge"])
