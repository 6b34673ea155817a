"""Leaves an orphaned process in its own session, with an empty environment that does not show its origin."""

import os
import sys
import time


def attack(facts: dict[str, str]) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            command = [sys.executable, "-ISc", "import time; time.sleep(20)", facts["mark"]]
            os.execve(sys.executable, command, {})
        os._exit(0)
    os.wait()
    time.sleep(0.1)
