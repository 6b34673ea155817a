"""Doubles: each process starts two, to a depth that makes far more than was granted; each ends by itself."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    until = time.monotonic() + 0.8
    first = os.getpid()
    for _ in range(7):
        try:
            os.fork()
        except OSError:
            break
    time.sleep(max(0.0, until - time.monotonic()))
    if os.getpid() != first:
        os._exit(0)
