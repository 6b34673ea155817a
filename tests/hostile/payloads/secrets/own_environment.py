"""Prints its own environment, both as the process has it and as the kernel reports it."""

import os


def attack(facts: dict[str, str]) -> None:
    print(dict(os.environ), open("/proc/self/environ").read())
