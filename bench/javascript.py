"""Measure a verdict on JavaScript: a suite of five tests, judged cold and in the pool, beside bare `node --test`.

    .venv/bin/python bench/javascript.py [--rounds 15]

Bare is one `node --test`, which starts a process for itself and one for the file. A verdict starts one for the tests,
one for their must-fail copies and one without node:test, in a sandbox. The variants take turns; the figures are medians
of the rounds' ratios to bare of the same round.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable

from nightshift.core.ports import Sandbox
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.pool import Pool
from nightshift.verdict.runner import SuiteRunner
from tests.support.sandboxes import open_folder, opened, runtime
from tests.support.trees import TextTree

CODE = "export const total = (numbers) => numbers.filter((n) => n > 0).reduce((a, b) => a + b, 0);\n"
CASES = (
    ("nothing", "[]", 0),
    ("below", "[-1]", 0),
    ("boundary", "[0]", 0),
    ("above", "[1]", 1),
    ("mixed", "[1, 2]", 3),
)
HEAD = """import test from 'node:test';
import assert from 'node:assert/strict';
import { total } from '../totals.mjs';

"""
TESTS = HEAD + "".join(
    f"test('{name}', () => {{\n  assert.equal(total({given}), {wanted});\n}});\n" for name, given, wanted in CASES
)
Run = Callable[[], Awaitable[None]]


def bare(folder: Path) -> Run:
    """Plain `node --test` on the same files."""
    node = runtime().node
    assert node, "install nodejs"
    suite = folder / "suite"
    (suite / "test").mkdir(parents=True)
    (suite / "totals.mjs").write_text(CODE)
    (suite / "test" / "totals.test.mjs").write_text(TESTS)

    async def run() -> None:
        argv, env = [node.path, "--test"], {"PATH": "/usr/bin:/bin"}
        await asyncio.to_thread(lambda: subprocess.run(argv, cwd=suite, env=env, check=True, stdout=subprocess.DEVNULL))

    return run


def judged(sandbox: Sandbox, folder: Path) -> Run:
    """A whole verdict in a sandbox."""
    runner = SuiteRunner(sandbox, runtime(), emit=lambda _event: None, staging_dir=folder / f"trees-{id(sandbox)}")
    given = {"test/totals.test.mjs": TESTS}
    job = SuiteJob(base=TextTree({}), change={"totals.mjs": CODE}, given=given, language=Language.JAVASCRIPT)

    async def run() -> None:
        verdict = await runner.judge(job)
        assert verdict.passed, verdict.reason
        assert verdict.evidence.twins == len(CASES)

    return run


async def measured(rounds: int) -> dict[str, list[float]]:
    """Seconds of each round, by variant."""
    times: dict[str, list[float]] = {}
    with open_folder() as folder:
        async with opened("bubblewrap", folder) as cold, opened("nested", folder) as nested:
            pool = Pool(nested, size=2)  # type: ignore[arg-type] # nested sandboxes can be begun
            runs = {"bare": bare(folder), "bubblewrap, cold": judged(cold, folder)}
            runs["nested, pool (default)"] = judged(pool, folder)
            for number in range(rounds + 2):
                for name, run in runs.items():
                    began = time.perf_counter()
                    await run()
                    if number >= 2:  # the first two fill caches and the pool
                        times.setdefault(name, []).append(time.perf_counter() - began)
            await pool.aclose()
    return times


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    times = asyncio.run(measured(rounds))
    print(f"{'':24} {'ms':>7} {'of bare':>8}   (medians of {rounds} rounds)")
    for name, taken in times.items():
        ratio = statistics.median(mine / plain for mine, plain in zip(taken, times["bare"], strict=True))
        print(f"{name:24} {1000 * statistics.median(taken):7.0f} {ratio:8.2f}")


if __name__ == "__main__":
    main()
