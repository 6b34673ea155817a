"""Writes to both of its streams until nobody reads."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    until, line = time.monotonic() + 3, b"flood " * 1000 + b"\n"
    for _ in range(8 * int(facts["output_bytes"]) // len(line)):
        os.write(1, line)
        os.write(2, line)
        if time.monotonic() > until:
            return
