"""Uses twice the granted memory in an anonymous file in memory."""

import mmap
import os
import time


def attack(facts: dict[str, str]) -> None:
    size = 2 * int(facts["memory_mb"]) << 20
    descriptor = os.memfd_create("held")
    try:
        os.ftruncate(descriptor, size)
    except OSError:
        size = int(facts["work_mb"]) << 20
        os.ftruncate(descriptor, size)
    with mmap.mmap(descriptor, size) as memory:
        for offset in range(0, size, 4096):
            memory[offset] = 1
        time.sleep(0.35)
