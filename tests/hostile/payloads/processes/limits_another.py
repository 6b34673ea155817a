"""Takes a process of the same user the right to open files."""

import resource


def attack(told: dict[str, str]) -> None:
    resource.prlimit(int(told["bait"]), resource.RLIMIT_NOFILE, (3, 3))
