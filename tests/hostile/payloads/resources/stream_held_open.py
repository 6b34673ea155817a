"""Ends while a child of its own keeps the streams open, so that whoever waits for their end waits on."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    if os.fork() == 0:
        os.setsid()
        time.sleep(float(facts["wall_s"]) + 1.5)
        os._exit(0)
