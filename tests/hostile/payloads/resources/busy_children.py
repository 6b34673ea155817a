"""Keeps four processes busy."""

import os
import time


def attack(told: dict[str, str]) -> None:
    until = time.monotonic() + 0.8
    children = [os.fork() for _ in range(2)]
    while time.monotonic() < until:
        pass
    if 0 in children:
        os._exit(0)
    time.sleep(0.05)
