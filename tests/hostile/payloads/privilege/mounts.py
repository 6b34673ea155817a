"""Mounts its own file system. Unless it is root already, it first becomes root of a user namespace."""

import ctypes
import os


def attack(facts: dict[str, str]) -> None:
    libc, user = ctypes.CDLL(None, use_errno=True), os.getuid()
    os.mkdir("place")
    if libc.unshare(0x20000):
        if libc.unshare(0x10020000):
            raise OSError(ctypes.get_errno(), "no namespace")
        become_root_of_it(user)
    libc.mount(None, b"/", None, 0x44000, None)  # the mount must not appear on the host
    if libc.mount(b"none", b"place", b"tmpfs", 0, None):
        raise OSError(ctypes.get_errno(), "not mounted")
    with open("place/file", "w") as file:
        file.write(facts["challenge"])
    if os.path.ismount("place"):
        print("carried", open("place/file").read())
    libc.umount2(b"place", 2)


def become_root_of_it(user: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {user} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
