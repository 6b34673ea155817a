"""Measure a model's command beside the runs of tests that it stands next to: `run` of `true` in a large tree.

    .venv/bin/python bench/commands.py [--files 5000] [--rounds 10]

A command, a trial of one small test and its verdict take turns in the pool that the daemon has, with the same tree. The
figures are medians and the medians of the rounds' ratios to the trial, which is one run of pytest. Goal: no dearer.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # instead of this folder, whose queue.py would hide the standard library's

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import time
from collections.abc import Awaitable, Mapping
from statistics import median

from bench.map import made
from nightshift.core.code.tree import Tree
from nightshift.core.shell import ShellJob
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.pool import warmed
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.shell import ShellRunner
from tests.support.sandboxes import bubblewrap, open_folder, runtime
from tests.support.trees import TextTree

TEST = {"tests/test_empty.py": "def test_empty():\n    assert 1 == 1\n"}
PAUSE_S = 0.5
"""So long the next sandbox has to come up, as it has while a model writes."""


class Listed(TextTree):
    """A tree that is listed once, as the commits of a repository are."""

    def __init__(self, files: Mapping[str, str]) -> None:
        super().__init__(files)
        self._commit, self._entries = super().commit, super().entries()

    @property
    def commit(self) -> str:
        """Its name."""
        return self._commit

    def entries(self) -> Mapping[str, str]:
        """Path to the digest of its text."""
        return self._entries


async def taken_s(work: Awaitable[object]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    await work
    took = time.perf_counter() - began
    await asyncio.sleep(PAUSE_S)
    return took


async def commands(tree: Tree, rounds: int) -> bool:
    """Print the figures for a tree; true when a command is no dearer than a trial."""
    with open_folder() as folder:
        warm = await warmed(bubblewrap(), runtime(), size=1)
        suite = SuiteRunner(warm.sandbox, runtime(), emit=lambda _: None, staging_dir=folder / "staging")
        shell = ShellRunner(warm.sandbox, runtime(), folder / "staging")
        job, command = SuiteJob(base=tree, change={}, given=TEST), ShellJob(command="true", base=tree)
        took: dict[str, list[float]] = {"run": [], "trial": [], "verdict": []}
        for number in range(rounds + 2):
            for name, work in (
                ("run", shell.execute(command)), ("trial", suite.try_out(job)), ("verdict", suite.judge(job)),
            ):  # fmt: skip
                seconds = await taken_s(work)
                took[name] += [seconds] if number > 1 else []
        await warm.aclose()
    ratios = {name: median(a / b for a, b in zip(each, took["trial"], strict=True)) for name, each in took.items()}
    for name, each in took.items():
        print(f"{name:8} {median(each) * 1000:7.0f} ms, {ratios[name]:.2f} of a trial (best {min(each) * 1000:.0f} ms)")
    return ratios["run"] <= 1


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=10)
    a = parser.parse_args()
    if not asyncio.run(commands(Listed(made(a.files)), a.rounds)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
