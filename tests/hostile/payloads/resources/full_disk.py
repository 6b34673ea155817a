"""Writes three times what it was granted into its folder, in parts of which each is allowed."""

import time


def attack(facts: dict[str, str]) -> None:
    part = b"x" * (int(facts["work_mb"]) << 17)  # an eighth
    try:
        for number in range(24):
            with open(f"part-{number}", "wb") as file:
                file.write(part)
    finally:
        time.sleep(0.35)
