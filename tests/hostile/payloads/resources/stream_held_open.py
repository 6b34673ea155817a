"""Ends while its child keeps the output streams open; a parent that waits for the end of a stream waits on."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    if os.fork() == 0:
        os.setsid()
        time.sleep(float(facts["wall_s"]) + 1.5)
        os._exit(0)
