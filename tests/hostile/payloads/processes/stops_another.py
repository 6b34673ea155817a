"""Stops a process of the same user, which then hangs forever."""

import os
import signal
import time


def attack(facts: dict[str, str]) -> None:
    os.kill(int(facts["bait"]), signal.SIGSTOP)
    time.sleep(0.05)
