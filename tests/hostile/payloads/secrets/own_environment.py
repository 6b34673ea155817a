"""Prints its own environment, as the process has it and as the kernel tells it."""

import os


def attack(facts: dict[str, str]) -> None:
    print(dict(os.environ), open("/proc/self/environ").read())
