"""Stops a process as a debugger would and reads its memory word by word."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    libc, pid = ctypes.CDLL(None, use_errno=True), int(facts["bait"])
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(16, pid, None, None):
        raise OSError(ctypes.get_errno(), "not attached")
    os.waitpid(pid, 0)
    first, last = (int(number, 16) for number in stack(pid).split()[0].split("-"))
    words = (libc.ptrace(1, pid, ctypes.c_void_p(address), None) for address in range(last - 4096, last, 8))
    print(b"".join((word & (1 << 64) - 1).to_bytes(8, "little") for word in words).replace(b"\0", b" "), first)
    libc.ptrace(17, pid, None, None)


def stack(pid: int) -> str:
    return next(line for line in open(f"/proc/{pid}/maps") if "[stack]" in line)
