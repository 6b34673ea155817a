"""Doubles its processes until there are far more than granted; each process ends on its own."""

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
