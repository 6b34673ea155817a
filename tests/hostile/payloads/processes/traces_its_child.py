"""Traces its own child and reads the child's memory.

This harms no other process, but `ptrace` exposes much of the kernel.
"""

import ctypes
import os
import signal


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    held = ctypes.create_string_buffer(facts["challenge"].encode(), 24)
    child = os.fork()
    if child == 0:
        traced = libc.ptrace(0, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP if traced == 0 else signal.SIGKILL)
        os._exit(0)
    if os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]):
        words = [libc.ptrace(1, child, ctypes.c_void_p(ctypes.addressof(held) + n), None) for n in (0, 8)]
        print("carried", b"".join((word & (1 << 64) - 1).to_bytes(8, "little") for word in words).decode("latin-1"))
        os.kill(child, signal.SIGKILL)
