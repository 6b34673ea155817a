"""Gives a process of the same user the lowest priority."""

import os


def attack(facts: dict[str, str]) -> None:
    os.setpriority(os.PRIO_PROCESS, int(facts["bait"]), 19)
