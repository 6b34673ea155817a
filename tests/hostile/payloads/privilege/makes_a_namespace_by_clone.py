"""Starts a child in its own user namespace, by both the old and the new form of `clone`."""

import ctypes
import os
import signal
import struct


def attack(facts: dict[str, str]) -> None:
    libc, here = ctypes.CDLL(None, use_errno=True), os.readlink("/proc/self/ns/user")
    new = struct.pack("=11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    for number, arguments in ((435, (new, len(new))), (56, (0x10000000 | signal.SIGCHLD, 0, 0, 0, 0))):
        pid = libc.syscall(number, *arguments)
        if pid == 0:
            os._exit(0 if os.readlink("/proc/self/ns/user") != here else 1)
        if pid > 0 and os.waitpid(pid, 0)[1] == 0:
            print("carried", facts["challenge"])
