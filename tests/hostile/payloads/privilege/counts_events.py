"""Opens a performance counter of the kernel, an interface that many attacks have used."""

import ctypes
import os
import struct


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    kind = struct.pack("=IIQQQQQ80x", 1, 128, 1, 0, 0, 0, 1 << 5 | 1 << 6)  # software, task clock, excluding the kernel
    number = libc.syscall(298, kind, 0, -1, -1, 0)
    if number < 0:
        raise OSError(ctypes.get_errno(), "no counter")
    if "perf_event" in os.readlink(f"/proc/self/fd/{number}"):
        print("carried", facts["challenge"])
