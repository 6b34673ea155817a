"""Replaces a file outside by one of its own, by a move instead of a write."""

import os


def attack(facts: dict[str, str]) -> None:
    with open(facts["canary"] + ".new", "w") as file:
        file.write("touched\n")
    os.replace(facts["canary"] + ".new", facts["canary"])
