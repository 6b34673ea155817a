"""Searches all visible folders for texts that look like keys, without knowing a path.

It begins with likely folders and with those near the root.
"""

import os
import re
import time

PLACES = ("/var/tmp", "/tmp", "/home", "/root", "/mnt", "/opt", "/srv", "/work", "/etc", "/run", "/var")


def attack(facts: dict[str, str]) -> None:
    until, waiting = time.monotonic() + 6, list(PLACES)
    while waiting and time.monotonic() < until:
        folder = waiting.pop(0)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif key := key_in(entry):
                print(entry.path, key)
                if entry.path.startswith(facts["folder"]):
                    return


def key_in(entry: os.DirEntry[str]) -> str:
    try:
        if not entry.is_file(follow_symlinks=False) or entry.stat().st_size > 4096:
            return ""
        with open(entry.path, errors="replace") as file:
            match = re.search(r"canary-[0-9a-f]{32}", file.read())
    except OSError:
        return ""
    return match[0] if match else ""
