"""Kills a process through a handle instead of its process id."""

import os
import signal
import time


def attack(facts: dict[str, str]) -> None:
    handle = os.pidfd_open(int(facts["bait"]))
    signal.pidfd_send_signal(handle, signal.SIGTERM)
    time.sleep(0.05)
