"""Writes three times the granted space into its folder, in parts that are each small enough."""

import time


def attack(facts: dict[str, str]) -> None:
    part = b"x" * (int(facts["work_mb"]) << 17)  # an eighth of the granted space
    try:
        for number in range(24):
            with open(f"part-{number}", "wb") as file:
                file.write(part)
    finally:
        time.sleep(0.35)
