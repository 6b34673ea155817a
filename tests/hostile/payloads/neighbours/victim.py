"""Works for a while and prints its result at the end; another program may try to prevent that."""

import time


def attack(facts: dict[str, str]) -> None:
    time.sleep(0.7)
    print("carried", facts["challenge"])
