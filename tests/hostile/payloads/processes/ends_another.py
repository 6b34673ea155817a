"""Kills a process of the same user."""

import os
import signal
import time


def attack(facts: dict[str, str]) -> None:
    os.kill(int(facts["bait"]), signal.SIGTERM)
    time.sleep(0.05)
