"""Creates an empty sparse file of a terabyte, which fills a disk when copied."""

import time


def attack(facts: dict[str, str]) -> None:
    try:
        with open("holes", "wb") as file:
            file.truncate(1 << 40)
    finally:
        time.sleep(0.35)
