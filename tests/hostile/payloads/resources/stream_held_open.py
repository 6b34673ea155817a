"""Ends while its child keeps the streams open, so that a parent that waits for their end keeps waiting."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    if os.fork() == 0:
        os.setsid()
        time.sleep(float(facts["wall_s"]) + 1.5)
        os._exit(0)
