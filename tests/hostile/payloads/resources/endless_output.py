"""Writes eight times the granted output to each of its two streams, for at most about three seconds."""

import os
import time


def attack(facts: dict[str, str]) -> None:
    until, line = time.monotonic() + 3, b"flood " * 1000 + b"\n"
    for _ in range(8 * int(facts["output_bytes"]) // len(line)):
        os.write(1, line)
        os.write(2, line)
        if time.monotonic() > until:
            return
