"""Kills the processes of another program. If `alone` is set, it also kills its parent, process 1 and all others."""

import os
import signal
import time


def attack(facts: dict[str, str]) -> None:
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if facts["prey"] in text(f"/proc/{pid}/cmdline"):
                kill(int(pid), signal.SIGKILL)
        time.sleep(0.02)
    if facts["alone"] == "yes":
        for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
            for keeper in (1, os.getppid(), -1):
                kill(keeper or -1, number)


def kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return


def text(path: str) -> str:
    try:
        return open(path).read()
    except OSError:
        return ""
