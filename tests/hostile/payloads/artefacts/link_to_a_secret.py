"""Leaves a link to a secret where a report is expected."""

import os


def attack(facts: dict[str, str]) -> None:
    os.symlink(facts["secret_file"], "report.json")
    os.mkdir("results")
    os.symlink(facts["folder"] + "/state", "results/state")
