"""Ends while its child keeps the output streams open; a parent that reads the streams to their end would wait on."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    if os.fork() == 0:
        os.setsid()
        time.sleep(float(facts["wall_s"]) + 1.5)
        os._exit(0)
