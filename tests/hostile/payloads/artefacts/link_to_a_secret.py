"""Leaves a link to a secret where a report is expected."""

import os


def attack(told: dict[str, str]) -> None:
    os.symlink(told["secret_file"], "report.json")
    os.mkdir("results")
    os.symlink(told["folder"] + "/state", "results/state")
