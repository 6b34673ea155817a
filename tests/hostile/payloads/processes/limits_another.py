"""Sets the limits of a process of the same user so that it cannot open files."""

import resource


def attack(facts: dict[str, str]) -> None:
    resource.prlimit(int(facts["bait"]), resource.RLIMIT_NOFILE, (3, 3))
