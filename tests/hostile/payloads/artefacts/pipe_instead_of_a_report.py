"""Leaves a pipe where a report is expected: whoever opens it waits for ever."""

import os


def attack(facts: dict[str, str]) -> None:
    os.mkfifo("report.json")
