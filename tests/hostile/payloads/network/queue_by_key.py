"""Takes a message for another program from a System V queue, by the queue's numeric key."""

import ctypes


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.msgget(int(facts["ipc_key"]), 0)
    message = ctypes.create_string_buffer(200)
    if queue < 0 or libc.msgrcv(queue, message, 150, 0, 0o4000) < 0:
        raise OSError(ctypes.get_errno(), "no message")
    print(message.raw)
