"""Walks through another project of the owner's."""

import os


def attack(told: dict[str, str]) -> None:
    for folder, _, names in os.walk(told["project"]):
        for name in names:
            print(open(os.path.join(folder, name)).read())
