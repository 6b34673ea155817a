"""Measures how many small functions the search finds from a stub and its tests, and how many pass the hidden checks.

    .venv/bin/python engine/bench/synthesis.py [--budget 20] [--only NAME] [--show]

The stubs are in `engine/bench/stubs.txt`. Each stub runs through the sandbox like the stub of a task.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[0] = str(ROOT)  # not this folder, so that `engine.bench` can be imported

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import os
import tempfile
import textwrap
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from engine.bench.stubs import Task, read_stubs
from nightshift.core.code.tree import FileTree
from nightshift.core.ports import Sandbox
from nightshift.sandbox import choose, run_python
from nightshift.sandbox.runtime import open_runtime, prepare
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift_engine import PROGRAM
from nightshift_engine.evaluation import EvaluationJob, SynthesisJob, SynthesisResult
from nightshift_engine.synthesis import SandboxSynthesiser


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The result for one stub: the outcome of its tests and hidden checks, and the seconds that the search took."""

    task: Task
    result: SynthesisResult
    holds: bool
    seconds: float


def job_of(task: Task, budget_s: float) -> SynthesisJob:
    """Make the job for a stub."""
    test = (
        f"import pytest\n\nfrom solution import {task.name}\n\n\ndef test_it():\n{textwrap.indent(task.tests, '    ')}"
    )
    trial = EvaluationJob(
        base=FileTree({}),
        change={},
        start={"solution.py": task.code},
        tests={"test_solution.py": test},
        whole_tree=False,
    )
    return SynthesisJob(job=trial, path="solution.py", scope=task.name, budget_s=budget_s)


@asynccontextmanager
async def open_sandbox() -> AsyncIterator[tuple[Sandbox, SandboxSynthesiser]]:
    """Open the strongest sandbox and its synthesiser."""
    prepare(ROOT / ".runner", [PROGRAM])
    runtime = open_runtime(ROOT / ".runner", programs=[PROGRAM])
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)  # noqa: PTH101 (nothing else runs in this loop yet)
        choice = await choose("auto", runtime=runtime, scratch=Path(folder))
        if choice.sandbox is None:
            raise SystemExit(choice.report)
        suite_runs = SuiteRuns(choice.sandbox, runtime, Path(folder) / "trees", mask=str)
        yield choice.sandbox, SandboxSynthesiser(suite_runs)


async def row_of(task: Task, budget_s: float, sandbox: Sandbox, runner: SandboxSynthesiser) -> Row:
    """Run one stub."""
    begun = time.perf_counter()
    result = await runner.synthesise(job_of(task, budget_s))
    seconds = time.perf_counter() - begun
    checks = f"import pytest\n{result.texts[0]}\n{task.tests}{task.hidden}" if result.texts else "raise SystemExit(1)"
    libraries = [mount.host for mount in open_runtime(ROOT / ".runner").mounts if mount.inside.endswith("lib")]
    ran = await run_python(checks, sandbox=sandbox, libraries=libraries)
    return Row(task=task, result=result, holds=ran.ok, seconds=seconds)


def line(row: Row) -> str:
    """Describe a row in one line."""
    state = "right" if row.holds else "wrong" if row.result.texts else "-"
    return (
        f"{row.task.name:18}{state:7}{row.seconds:6.1f} s {row.result.examples:3} examples {row.result.tried:10,} tried"
    )


async def main() -> None:
    """Parse the command line, run the stubs, and print the results."""
    parser = argparse.ArgumentParser(description="Measures the search for small functions.")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each")
    parser.add_argument("--only", default="", help="stubs whose name contains this")
    parser.add_argument("--show", action="store_true", help="print what was found")
    arguments = parser.parse_args()
    rows = []
    async with open_sandbox() as (sandbox, runner):
        for task in read_stubs():
            if arguments.only not in task.name:
                continue
            rows.append(await row_of(task, arguments.budget, sandbox, runner))
            print(line(rows[-1]), flush=True)
            if arguments.show:
                print(textwrap.indent("\n".join(rows[-1].result.texts[:3]) or rows[-1].result.why, "      "))
    filled, right = sum(bool(row.result.texts) for row in rows), sum(row.holds for row in rows)
    seconds = sum(row.seconds for row in rows)
    print(f"{len(rows)} stubs: {filled} found, of these {right} hold the hidden checks; {seconds:.0f} s")


if __name__ == "__main__":
    asyncio.run(main())
