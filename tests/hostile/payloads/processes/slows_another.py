"""Takes a process of the same user its rank."""

import os


def attack(told: dict[str, str]) -> None:
    os.setpriority(os.PRIO_PROCESS, int(told["bait"]), 19)
