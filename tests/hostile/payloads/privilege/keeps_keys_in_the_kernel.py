"""Stores a text in a kernel keyring, which all processes of a user share, and reads it back."""

import ctypes


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    text, read = facts["challenge"].encode(), ctypes.create_string_buffer(100)
    key = libc.syscall(248, b"user", facts["mark"].encode(), text, len(text), -3)  # the session's keyring
    if key < 0:
        raise OSError(ctypes.get_errno(), "no key")
    libc.syscall(250, 5, key, 0x3F3F0000, 0, 0)  # keyctl, grant the key's owner all permissions
    length = libc.syscall(250, 11, key, read, 100, 0)  # keyctl, read
    print("carried", read.raw[:length].decode())
