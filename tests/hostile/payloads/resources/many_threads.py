"""Starts threads until that fails: they count like processes."""

import threading
import time


def attack(facts: dict[str, str]) -> None:
    over = threading.Event()
    threading.stack_size(1 << 16)
    try:
        for _ in range(4 * int(facts["pids"])):
            threading.Thread(target=over.wait, daemon=True).start()
    except RuntimeError as error:
        print("refused", error)
    time.sleep(0.35)
    over.set()
