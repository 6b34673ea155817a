"""Reads every descriptor that it inherited, from the start of the file."""

import os


def attack(facts: dict[str, str]) -> None:
    for number in range(3, 256):
        try:
            print(number, os.pread(number, 1 << 12, 0))
        except OSError:
            continue
