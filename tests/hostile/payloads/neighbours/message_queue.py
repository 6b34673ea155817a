"""Leaves a message in a System V queue, which belongs to no process."""

import ctypes


def leave(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.msgget(int(facts["left_key"]), 0o1666)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "no queue")
    for _ in range(40):
        libc.msgsnd(queue, (1).to_bytes(8, "little") + facts["secret"].encode(), len(facts["secret"]), 0o4000)


def find(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    queue, message = libc.msgget(int(facts["left_key"]), 0), ctypes.create_string_buffer(200)
    if queue < 0 or libc.msgrcv(queue, message, 150, 0, 0o4000) < 0:
        raise OSError(ctypes.get_errno(), "no message")
    print(message.raw)
