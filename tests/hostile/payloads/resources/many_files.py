"""Makes empty files with long names: no byte of content, yet each costs."""

import os
import time


def attack(told: dict[str, str]) -> None:
    name = "n" * 240
    try:
        for number in range(17_000):
            os.close(os.open(f"{name}{number}", os.O_CREAT | os.O_WRONLY))
    finally:
        time.sleep(0.2)
