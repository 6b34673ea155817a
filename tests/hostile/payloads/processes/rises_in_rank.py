"""Raises its own priority above all other processes, by a real-time policy or else by a better nice value."""

import os


def attack(facts: dict[str, str]) -> None:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        risen = os.sched_getscheduler(0) == os.SCHED_FIFO
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
        risen = os.getpriority(os.PRIO_PROCESS, 0) == -10
    if risen:
        print("carried", facts["challenge"])
