"""Raises its limit of open files, then opens descriptors until that fails."""

import os
import resource
import time


def attack(facts: dict[str, str]) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        for _ in range(1500):
            os.dup(1)
    except OSError as error:
        print("refused", error)
    time.sleep(0.35)
