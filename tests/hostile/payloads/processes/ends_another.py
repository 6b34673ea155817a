"""Ends a process of the same user."""

import os
import signal
import time


def attack(told: dict[str, str]) -> None:
    os.kill(int(told["bait"]), signal.SIGTERM)
    time.sleep(0.05)
