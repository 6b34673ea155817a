"""Fills most of its memory, then creates many empty files with long names, because even empty files use memory."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    name = "n" * 240
    for number in range((int(facts["memory_mb"]) - 10) // 6):
        os.write(os.memfd_create(f"part-{number}"), b"x" * (6 << 20))
    try:
        for number in range(7_000):
            os.close(os.open(f"{name}{number}", os.O_CREAT | os.O_WRONLY))
    finally:
        time.sleep(0.4)
