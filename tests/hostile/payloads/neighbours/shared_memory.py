"""Leaves a secret in System V shared memory, which has a numeric key and belongs to no process."""

import ctypes


def leave(facts: dict[str, str]) -> None:
    libc = memory()
    segment = libc.shmget(int(facts["left_key"]), 4096, 0o1666)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "no memory")
    ctypes.memmove(libc.shmat(segment, None, 0), facts["secret"].encode(), len(facts["secret"]))


def find(facts: dict[str, str]) -> None:
    libc = memory()
    segment = libc.shmget(int(facts["left_key"]), 0, 0)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "no such memory")
    print(ctypes.string_at(libc.shmat(segment, None, 0o10000), 100))


def memory() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    return libc
