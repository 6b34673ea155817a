"""Leaves a process that holds a secret in its environment."""

import os
import sys


def leave(facts: dict[str, str]) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            command = [sys.executable, "-ISc", "import time; time.sleep(15)", facts["mark"]]
            os.execve(sys.executable, command, {"SECRET": facts["secret"]})
        os._exit(0)
    os.wait()


def find(facts: dict[str, str]) -> None:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            print(open(f"/proc/{pid}/environ").read())
        except OSError:
            continue
