"""Measures how fast the hub is on the packaged Temporal server, and how much memory the server needs.

    .venv/bin/python bench/hub.py [--quick] [--only PART]

The part `tasks` counts the tasks that are started and ended per second with 1, 4 and 16 nodes. Each node is a process
with four workers, which end their tasks at once. The part `wake` measures the time from the call that submits a task to
the attempt on a node that waits for the task. The server's memory is printed at its start and at the end. Server,
database (SQLite on disk) and nodes share the processors.
"""

# ruff: noqa: E402  the path comes first, see below
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

import argparse
import multiprocessing
import statistics
import tempfile
import time
from typing import Any

import psutil

from nightshift.core.tasks.states import Status
from tests.support.light_node import LightNode, light_node
from tests.support.temporal import TemporalServer

WORKERS = 4


def client(url: str, name: str, workers: int, ready: Any, over: Any) -> None:
    """Run a node that ends each attempt at once; the main function of a child process."""
    with light_node(url, name, slots=workers) as node:
        node.end_all(workers)
        ready.wait()
        over.wait()


def tasks(server: TemporalServer, count: int) -> None:
    print(f"{count} tasks: started a second, ended a second")
    spawn = multiprocessing.get_context("spawn")
    for nodes in (1, 4, 16):
        url, ready, over = server.ready(), spawn.Barrier(nodes + 1), spawn.Event()
        with light_node(url, "origin") as origin:
            begun = time.monotonic()
            for _ in range(count):
                origin.submit("x")
            started = count / (time.monotonic() - begun)
            children = [spawn.Process(target=client, args=(url, f"n{n}", WORKERS, ready, over)) for n in range(nodes)]
            for child in children:
                child.start()
            ready.wait()
            before, begun = count_ended(origin), time.monotonic()
            while (ended := count_ended(origin)) < count:
                time.sleep(0.2)
            took = time.monotonic() - begun
            over.set()
            for child in children:
                child.join()
        rate = (ended - before) / took if ended > before else float("nan")
        print(f"  {nodes:2} nodes × {WORKERS}: {started:5.0f} started   {rate:5.0f} ended", flush=True)


def count_ended(node: LightNode) -> int:
    return node.queue.counts()[Status.DONE]


def wake(server: TemporalServer, count: int) -> None:
    url, took = server.ready(), list[float]()
    with light_node(url, "here") as here, light_node(url, "there") as there:
        for _ in range(count):
            there.want()
            time.sleep(0.1)  # time for the node's request to reach the server
            begun = time.perf_counter()
            here.submit("x")
            there.wait_for_attempt()
            took.append((time.perf_counter() - begun) * 1e3)
    print(f"from submitting a task to its attempt: p50 {statistics.median(took):.0f} ms   most {max(took):.0f} ms")


def memory(server: TemporalServer) -> float:
    assert server.process
    return psutil.Process(server.process.pid).memory_info().rss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the hub on Temporal.")
    parser.add_argument("--quick", action="store_true", help="60 tasks instead of 400")
    parser.add_argument("--only", choices=("tasks", "wake"), help="one part")
    flags = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench-hub-") as name,
        TemporalServer(Path(name) / "temporal.db", namespaces=5) as server,
    ):
        print(f"the server takes {memory(server):.0f} MB at its start")
        if flags.only in {None, "tasks"}:
            tasks(server, 60 if flags.quick else 400)
        if flags.only in {None, "wake"}:
            wake(server, 10 if flags.quick else 50)
        print(f"the server takes {memory(server):.0f} MB at the end")


if __name__ == "__main__":
    main()
