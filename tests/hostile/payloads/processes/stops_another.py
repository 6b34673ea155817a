"""Stops a process of the same user, which then hangs without an end."""

import os
import signal
import time


def attack(told: dict[str, str]) -> None:
    os.kill(int(told["bait"]), signal.SIGSTOP)
    time.sleep(0.05)
