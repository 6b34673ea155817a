"""Writes one file of twice the granted size."""

import time


def attack(facts: dict[str, str]) -> None:
    part = b"x" * (1 << 20)
    try:
        with open("big", "wb") as file:
            file.writelines(part for _ in range(2 * int(facts["work_mb"])))
    finally:
        time.sleep(0.35)
