"""Becomes root in its own user namespace, which gives access to many parts of the kernel."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    libc, user = ctypes.CDLL(None, use_errno=True), os.getuid()
    if libc.unshare(0x10000000):
        raise OSError(ctypes.get_errno(), "no namespace")
    with open("/proc/self/setgroups", "w") as file:
        file.write("deny")
    with open("/proc/self/uid_map", "w") as file:
        file.write(f"0 {user} 1")
    if os.getuid() == 0 and "0" in open("/proc/self/uid_map").read().split():
        print("carried", facts["challenge"])
