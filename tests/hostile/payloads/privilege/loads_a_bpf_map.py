"""Stores a text in a BPF map in the kernel and reads it back."""

import ctypes
import struct


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(facts["challenge"].encode(), 16)
    key, read = ctypes.c_uint32(0), ctypes.create_string_buffer(16)
    definition = struct.pack("=4I112x", 2, 4, 16, 1)
    number = libc.syscall(321, 0, definition, len(definition))
    if number < 0:
        raise OSError(ctypes.get_errno(), "no map")
    for command, buffer in ((2, text), (1, read)):  # update, look up
        element = struct.pack("=I4xQQQ96x", number, ctypes.addressof(key), ctypes.addressof(buffer), 0)
        libc.syscall(321, command, element, len(element))
    print("carried", read.value.decode())
