"""Knows no place: walks through all that it can see, the likely places first, for what looks like a key."""

import os
import re
import time


def attack(told: dict[str, str]) -> None:
    until = time.monotonic() + 4
    for start in ("/var/tmp", "/tmp", "/home", "/root", "/mnt", "/opt", "/srv", "/work", "/etc", "/run", "/var"):
        for folder, _, names in os.walk(start):
            if time.monotonic() > until:
                return
            for path in (os.path.join(folder, name) for name in names):
                if found := key_in(path):
                    print(path, found)
                    return


def key_in(path: str) -> str:
    try:
        if os.lstat(path).st_size > 4096:
            return ""
        with open(path, errors="replace") as file:
            found = re.search(r"canary-[0-9a-f]{32}", file.read())
    except OSError:
        return ""
    return found[0] if found else ""
