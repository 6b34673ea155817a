"""Stops itself, so that it uses no processor time and does not end; a child wakes it long after the time limit."""

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
