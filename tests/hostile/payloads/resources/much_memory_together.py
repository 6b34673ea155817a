"""Allocates twice the granted memory in child processes, each of which stays below the limit."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    share = int(facts["memory_mb"]) // 4
    for _ in range(8):
        if os.fork() == 0:
            held = bytearray(b"x") * (share << 20)
            time.sleep(0.6)
            os._exit(len(held) == 0)
    for _ in range(8):
        os.wait()
