"""What the daemon costs: N tasks through the whole of it, beside bare pytest on the same suites.

    .venv/bin/python bench/overhead.py [--tasks 40] [--workers 2] [--rounds 3]

A scripted server answers at once and rightly, so what is left is Nightshift: queue, durable steps, HTTP, sandbox,
verdict with twins, commit, integration. Bare pytest runs the same suites with the same interpreter and the same
parallelism, one process a suite. The two take turns; the figure is the median of the rounds' ratios.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import re
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from sandbox.runtime import open_runtime
from tests.support.daemon import Daemon
from tests.support.wire_server import WireServer

CODE = """def total(numbers):
    \"\"\"Sum of the numbers above {n}.\"\"\"
    return sum(x for x in numbers if x > {n})
"""
TESTS = """from task_{n} import total


def test_empty():
    assert total([]) == 0


def test_below():
    assert total([{n} - 1]) == 0


def test_boundary():
    assert total([{n}]) == 0


def test_above():
    assert total([{n} + 1]) == {n} + 1


def test_mixed():
    assert total([{n} + 1, {n} + 2, -5]) == 2 * {n} + 3
"""


def reply(phase: str, messages: list[dict[str, str]]) -> str:
    """The right answer to every request."""
    if phase != "CODING":
        return "1. Write the function."
    found = re.search(r"task_(\d+)", "\n".join(message["content"] for message in messages))
    assert found
    n = int(found[1])
    return f"```python path=task_{n}.py\n{CODE.format(n=n)}```"


def through_the_daemon(daemon: Daemon, numbers: range) -> float:
    """Seconds from the first submission to the last commit."""
    began = time.perf_counter()
    ids = [
        daemon.submit(description=f"Write total() in task_{n}.py", tests={f"test_task_{n}.py": TESTS.format(n=n)})
        for n in numbers
    ]
    ended = daemon.wait(*ids, within_s=600)
    took = time.perf_counter() - began
    wrong = [task for task in ended if task["ending"] != "committed"]
    assert not wrong, wrong[:1]
    return took


def bare(python: str, runner: Path, numbers: range, workers: int) -> float:
    """Seconds for the same suites with nothing around them."""
    with tempfile.TemporaryDirectory() as folder:
        suites = []
        for n in numbers:
            suite = Path(folder, str(n))
            suite.mkdir()
            (suite / f"task_{n}.py").write_text(CODE.format(n=n))
            (suite / f"test_task_{n}.py").write_text(TESTS.format(n=n))
            suites.append(suite)

        def judge(suite: Path) -> None:
            env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(runner), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            argv = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            subprocess.run(argv, cwd=suite, env=env, check=True, stdout=subprocess.DEVNULL)

        began = time.perf_counter()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(judge, suites))
        return time.perf_counter() - began


def main() -> None:
    """Run the rounds and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    a = parser.parse_args()
    runtime = open_runtime(ROOT / ".runner")
    ratios = []
    with tempfile.TemporaryDirectory() as home, WireServer(reply) as server:
        settings = {
            "MODEL_TYPE": "openai", "OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": server.openai_base_url,
            "MODEL_NAME": server.model, "WORKER_COUNT": str(a.workers), "EMBEDDER": "hashed",
        }  # fmt: skip
        with Daemon(Path(home), settings) as daemon:
            through_the_daemon(daemon, range(2))
            for number in range(a.rounds):
                numbers = range(1000 * (number + 1), 1000 * (number + 1) + a.tasks)
                plain = bare(runtime.python[-1], runtime.mounts[0].host, numbers, a.workers)
                ours = through_the_daemon(daemon, numbers)
                ratios.append(ours / plain)
                print(
                    f"round {number + 1}: daemon {ours / a.tasks * 1000:.0f} ms a task, "
                    f"bare pytest {plain / a.tasks * 1000:.0f} ms a suite, ratio {ratios[-1]:.2f}"
                )
    print(f"median ratio {statistics.median(ratios):.2f} ({a.tasks} tasks, {a.workers} workers; goal: below 1.0)")


if __name__ == "__main__":
    main()
