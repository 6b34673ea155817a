"""Measure a verdict: a suite of five tests, judged in each isolation and in the pool, compared with bare pytest.

    .venv/bin/python bench/sandbox.py [--rounds 15] [--without docker]

Bare pytest is one process, `python -m pytest`. It proves little: it has no isolation, no must-fail copies and no run
without pytest. A verdict includes all of these. The variants take turns, so that other load on the machine affects all
of them alike. The figures are medians of the rounds' ratios to bare pytest in the same round.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from nightshift.core.ports import Sandbox
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.pool import Pool
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import ISOLATIONS, open_folder, open_it, runtime
from tests.support.trees import TextTree

CODE = "def total(numbers):\n    return sum(number for number in numbers if number > 0)\n"
TESTS = """from totals import total


def test_nothing():
    assert total([]) == 0


def test_below():
    assert total([-1]) == 0


def test_boundary():
    assert total([0]) == 0


def test_above():
    assert total([1]) == 1


def test_mixed():
    assert total([1, 2, -5]) == 3
"""
Run = Callable[[], Awaitable[None]]


def bare(inside: Runtime, folder: Path) -> Run:
    """Return a run of plain pytest on the same files, with the same interpreter and libraries."""
    suite = folder / "suite"
    suite.mkdir()
    (suite / "totals.py").write_text(CODE)
    (suite / "test_totals.py").write_text(TESTS)
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(inside.mounts[0].host), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    argv = [*inside.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]

    async def run() -> None:
        await asyncio.to_thread(lambda: subprocess.run(argv, cwd=suite, env=env, check=True, stdout=subprocess.DEVNULL))

    return run


def judge_change(sandbox: Sandbox, folder: Path) -> Run:
    """Return a run of a complete verdict in a sandbox."""
    runner = SuiteRunner(sandbox, runtime(), emit=lambda _event: None, staging_dir=folder / f"trees-{id(sandbox)}")
    job = SuiteJob(base=TextTree({}), change={"totals.py": CODE}, given={"test_totals.py": TESTS}, whole_tree=False)

    async def run() -> None:
        verdict = await runner.judge(job)
        assert verdict.passed, verdict.reason

    return run


@asynccontextmanager
async def open_pool(folder: Path) -> AsyncIterator[Sandbox]:
    """Yield a pool of nested sandboxes that are started in advance."""
    async with open_it("nested", folder) as nested:
        pool = Pool(nested, size=2)  # type: ignore[arg-type] # nested sandboxes can be begun
        yield pool
        await pool.aclose()


async def measure(rounds: int, names: list[str]) -> dict[str, list[float]]:
    """Return the seconds of each round, by variant."""
    times: dict[str, list[float]] = {}
    with open_folder() as folder:
        runs = {"bare": bare(runtime(), folder)}
        for name in names:
            async with open_it(name, folder) as sandbox:
                if name != "nested":
                    runs[f"{name}, cold"] = judge_change(sandbox, folder)
        async with open_it("nested", folder) as nested, open_pool(folder) as pool:
            runs |= {
                "nested, on demand": judge_change(nested, folder),
                "nested, pool (default)": judge_change(pool, folder),
            }
            for number in range(rounds + 2):
                for name, run in runs.items():
                    began = time.perf_counter()
                    await run()
                    if number >= 2:  # the first two rounds fill caches and the pool
                        times.setdefault(name, []).append(time.perf_counter() - began)
    return times


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--without", action="append", default=[], choices=ISOLATIONS)
    a = parser.parse_args()
    times = asyncio.run(measure(a.rounds, [name for name in ISOLATIONS if name not in a.without]))
    print(f"{'':24} {'ms':>7} {'of bare':>8}   (medians of {a.rounds} rounds)")
    for name, taken in times.items():
        ratio = statistics.median(mine / bare for mine, bare in zip(taken, times["bare"], strict=True))
        print(f"{name:24} {1000 * statistics.median(taken):7.0f} {ratio:8.2f}")
    print("goals: bubblewrap cold at most 1.3, the pool below 0.4")


if __name__ == "__main__":
    main()
