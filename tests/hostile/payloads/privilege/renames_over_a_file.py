"""Replaces a file outside its folder, by a rename instead of a write."""

import os


def attack(facts: dict[str, str]) -> None:
    with open(facts["canary"] + ".new", "w") as file:
        file.write("touched\n")
    os.replace(facts["canary"] + ".new", facts["canary"])
