"""Makes a device of its own and reads from it: that of zeros, where the disk's would do as well."""

import os
import stat


def attack(facts: dict[str, str]) -> None:
    os.mknod("zeros", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    with open("zeros", "rb") as device:
        if device.read(8) == bytes(8):
            print("carried", facts["challenge"])
