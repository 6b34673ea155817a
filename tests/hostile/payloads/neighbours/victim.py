"""Does its work and tells the result at the end; somebody may not like that."""

import time


def attack(facts: dict[str, str]) -> None:
    time.sleep(0.7)
    print("carried", facts["challenge"])
