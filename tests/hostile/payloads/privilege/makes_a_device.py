"""Creates a device file and reads from it. It uses the zero device; the disk's device would work as well."""

import os
import stat


def attack(facts: dict[str, str]) -> None:
    os.mknod("zeros", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    with open("zeros", "rb") as device:
        if device.read(8) == bytes(8):
            print("carried", facts["challenge"])
