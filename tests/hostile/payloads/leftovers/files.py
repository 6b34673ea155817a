"""Leaves files wherever the next program may find them."""

import os

PLACES = (".", "/tmp", "/var/tmp", "/dev/shm", "/work", "/run", "/opt", os.path.expanduser("~"))


def leave(told: dict[str, str]) -> None:
    for place in PLACES:
        try:
            with open(f"{place}/{told['mark']}", "w") as file:
                file.write(told["secret"])
        except OSError:
            continue


def find(told: dict[str, str]) -> None:
    for place in PLACES:
        try:
            print(open(f"{place}/{told['mark']}").read())
        except OSError:
            continue
