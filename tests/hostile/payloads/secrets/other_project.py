"""Reads the files of another project of the owner."""

import os


def attack(facts: dict[str, str]) -> None:
    for folder, _, names in os.walk(facts["project"]):
        for name in names:
            print(open(os.path.join(folder, name)).read())
