"""Ignores every signal that can be ignored, and continues beyond its time limit."""

import signal
import time


def attack(facts: dict[str, str]) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    until = time.monotonic() + float(facts["wall_s"]) + 1.5
    while time.monotonic() < until:
        time.sleep(0.1)
