"""Replaces a file outside by one of its own, by a move instead of a write."""

import os


def attack(told: dict[str, str]) -> None:
    with open(told["canary"] + ".new", "w") as file:
        file.write("touched\n")
    os.replace(told["canary"] + ".new", told["canary"])
