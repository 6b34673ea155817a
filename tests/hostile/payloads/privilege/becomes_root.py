"""Takes root's user id or gives a file away, which only root may do."""

import os


def attack(facts: dict[str, str]) -> None:
    with open("file", "w"):
        pass
    try:
        os.setresuid(0, 0, 0)
        os.setgroups([])
    except OSError:
        os.chown("file", 12345, 12345)
    os.chown("file", 12345, 12345)
    if os.stat("file").st_uid == 12345:
        print("carried", facts["challenge"])
