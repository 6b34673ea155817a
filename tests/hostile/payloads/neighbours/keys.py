"""Leaves a secret in the user's kernel keyring."""

import ctypes


def leave(facts: dict[str, str]) -> None:
    libc, text = ctypes.CDLL(None, use_errno=True), facts["secret"].encode()
    key = libc.syscall(248, b"user", facts["mark"].encode(), text, len(text), -4)  # the user's keyring
    if key < 0:
        raise OSError(ctypes.get_errno(), "no key")
    libc.syscall(250, 5, key, 0x3F3F3F3F, 0, 0)  # keyctl, grant all permissions
    libc.syscall(250, 15, key, 20, 0, 0)  # keyctl, expires after twenty seconds


def find(facts: dict[str, str]) -> None:
    libc, read = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(100)
    libc.syscall(250, 8, -4, -3, 0, 0)  # keyctl, link the user's keyring into the session's
    key = libc.syscall(250, 10, -4, b"user", facts["mark"].encode(), 0)  # keyctl, search
    if key < 0:
        raise OSError(ctypes.get_errno(), "no key")
    libc.syscall(250, 11, key, read, 100, 0)  # keyctl, read
    print(read.raw)
