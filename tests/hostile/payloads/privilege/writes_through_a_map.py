"""Changes a file outside its folder through a shared memory map, without any write call."""

import mmap
import os


def attack(facts: dict[str, str]) -> None:
    descriptor = os.open(facts["canary"], os.O_RDWR)
    with mmap.mmap(descriptor, 0) as memory:
        memory[0:5] = b"WHOLE"
        memory.flush()
