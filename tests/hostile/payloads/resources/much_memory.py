"""Allocates twice the granted memory, and touches every page."""

import time


def attack(facts: dict[str, str]) -> None:
    held = [bytearray(b"x") * (8 << 20) for _ in range(2 * int(facts["memory_mb"]) // 8)]
    time.sleep(0.35)
    held.clear()
