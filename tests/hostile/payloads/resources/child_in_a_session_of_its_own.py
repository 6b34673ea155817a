"""Leaves an orphaned process behind, in its own session."""

import os
import sys


def attack(facts: dict[str, str]) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            os.execv(sys.executable, [sys.executable, "-ISc", "import time; time.sleep(20)", facts["mark"]])
        os._exit(0)
    os.wait()
