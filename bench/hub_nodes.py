"""How the wall time of a night falls with nodes: the same tasks on one hub with one, two and three daemons.

    .venv/bin/python bench/hub_nodes.py [--tasks N] [--latency S]

Each daemon has one worker; the model is a scripted server that takes `--latency` seconds for a reply, so that a task
waits as it would for a real one. All daemons, PostgreSQL and the sandboxes share this machine's cores, so that the last
column also says how many of them were busy: more nodes help as far as cores are left. Times are from the first claim to
the last end, as the hub noted them. Each run ends with as many commits on the shared branch as there are tasks.
"""

# ruff: noqa: E402  the path comes first, see below
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

import argparse
import os
import tempfile
import time

import psutil

from tests.support.federation import Federation, federation, task


def busy_s() -> float:
    """Seconds that the processors of this machine were busy, in all."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "steal", 0.0))


def night(fed: Federation, nodes: int, count: int) -> tuple[float, float]:
    """Seconds from the first claim to the last end, and how many processors were busy meanwhile."""
    fed.queue.pause("until all tasks are there")
    daemons = [fed.daemon(name, WORKER_COUNT="1") for name in "abc"[:nodes]]
    for number in range(1, count + 1):
        daemons[number % nodes].submit(**task(number))
    while len(fed.tasks()) < count:
        time.sleep(0.1)
    began, busy = time.monotonic(), busy_s()
    fed.queue.resume()
    while fed.open_tasks():
        time.sleep(0.1)
    used = (busy_s() - busy) / (time.monotonic() - began)
    ended = fed.tasks()
    assert len(fed.landed()) == count, "each task is one commit on the shared branch"
    first = min(one.claimed_at for one in ended if one.claimed_at)
    last = max(one.ended_at for one in ended if one.ended_at)
    return (last - first).total_seconds(), used


def main() -> None:
    """Print a line for each number of nodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=45)
    parser.add_argument("--latency", type=float, default=0.5)
    asked = parser.parse_args()
    alone = 0.0
    print(f"{asked.tasks} tasks of two replies, {asked.latency:g} s each; {os.cpu_count()} processors")
    for nodes in (1, 2, 3):
        with tempfile.TemporaryDirectory() as folder, federation(Path(folder), latency_s=asked.latency) as fed:
            wall_s, used = night(fed, nodes, asked.tasks)
        alone = alone or wall_s
        print(
            f"{nodes} nodes  {wall_s:6.1f} s  {alone / wall_s:4.2f} times as fast as one  {used:4.2f} processors busy"
        )


if __name__ == "__main__":
    main()
