"""Stops itself, so that it will never end and takes no time of a processor; a child wakes it far too late."""

import os
import signal
import time


def attack(facts: dict[str, str]) -> None:
    here = os.getpid()
    if os.fork() == 0:
        time.sleep(float(facts["wall_s"]) + 1.5)
        os.kill(here, signal.SIGCONT)
        os._exit(0)
    os.kill(here, signal.SIGSTOP)
