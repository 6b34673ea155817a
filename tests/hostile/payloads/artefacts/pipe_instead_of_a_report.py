"""Leaves a pipe where a report is expected: opening it blocks forever."""

import os


def attack(facts: dict[str, str]) -> None:
    os.mkfifo("report.json")
