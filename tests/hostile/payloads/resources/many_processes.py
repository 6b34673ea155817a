"""Starts processes until that fails, at most ten times the granted number, and holds them for a moment."""

import os
import signal
import time


def attack(facts: dict[str, str]) -> None:
    children = []
    try:
        for _ in range(min(300, 10 * int(facts["pids"]))):
            child = os.fork()
            if child == 0:
                time.sleep(3)
                os._exit(0)
            children.append(child)
    except OSError as error:
        print("refused", error)
    time.sleep(0.35)
    for child in children:
        os.kill(child, signal.SIGKILL)
