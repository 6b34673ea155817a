"""Keeps four processes busy until each has used a quarter of a second of processor time."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    until = time.monotonic() + 2.5
    children = [os.fork() for _ in range(2)]
    while time.process_time() < 0.25 and time.monotonic() < until:
        pass
    for child in children:
        if child:
            os.waitpid(child, 0)
    if 0 in children:
        os._exit(0)
    time.sleep(0.1)
