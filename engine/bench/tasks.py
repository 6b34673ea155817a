"""Measures the built-in engine on any set of tasks: fixed, wrongly accepted, time and candidates for each.

    .venv/bin/python engine/bench/tasks.py --tasks FILE [--limit N] [--within 60] [--cores 2] [--only ID,…] [--out FILE]

FILE has one task per line as JSON, in the format of the task API: `description`, `files`, `tests` or `test_command`,
and optionally `id` or `key`, `language`, `limits`; `start_files` and `test_files` are aliases of `files` and `tests`.
`hidden_tests` (also `hidden`, `hidden_test_files`) maps paths to the texts of tests that are not shown to the engine. A
change that passes the given tests and fails the hidden tests was wrongly accepted. Lines that are not tasks are
reported and skipped.

A task is fixed if the suite runner's whole verdict passes within the time: given tests, must-fail copies, and the cases
that the daemon holds out. The engine runs in the sandbox that the daemon would use, on `--cores` cores.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[0] = str(ROOT)  # not this folder, so that `engine.bench` can be imported

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TextIO

from engine.bench.harness import Outcome, harness_on, middle
from engine.bench.task_files import Row, choose_rows, read
from nightshift.core.errors import InvalidTask


def describe(done: Outcome) -> str:
    """Describe the outcome of one task in one line."""
    if not done.fixed:
        word = "not fixed"
    elif done.wrong:
        word = "WRONG    "
    else:
        word = "fixed    "
    why = done.hidden_why or done.why_not or done.warning
    again = f", refused {len(done.refused)} times: {done.refused[0]}" if done.refused else ""
    kind = f"  {done.kind}" if done.kind else ""
    return f"{word}  {done.took_s:6.1f} s  {done.tried:6} tried  {done.name}{kind}{again}{f'  ({why})' if why else ''}"


def total(outcomes: Sequence[Outcome]) -> str:
    """Summarise the outcomes of all tasks in one line."""
    fixed = [outcome for outcome in outcomes if outcome.fixed]
    wrong = sum(outcome.wrong for outcome in fixed)
    checkable = sum(outcome.has_hidden for outcome in fixed)
    searched = sum(outcome.search_s for outcome in outcomes)
    rate = sum(outcome.tried for outcome in outcomes) / searched * 60 if searched else 0
    held = f"wrongly accepted {wrong} of {checkable} with hidden tests" if checkable else "no hidden tests"
    return (
        f"fixed {len(fixed)} of {len(outcomes)}; {held}; "
        f"fixed in {middle([outcome.took_s for outcome in fixed])}; {rate:.0f} candidates a minute"
    )


async def run(rows: Sequence[Row], a: argparse.Namespace, out: TextIO | None) -> list[Outcome]:
    """Try each task in turn, and print its outcome immediately."""
    outcomes = list[Outcome]()
    async with harness_on(a.cores, a.sandbox) as here:
        for row in rows:
            say = (lambda text: print("   ", text, flush=True)) if a.verbose else (lambda _text: None)
            done = await here.repair(row, a.within, say)
            print(describe(done), flush=True)
            if out:
                print(json.dumps(asdict(done)), file=out, flush=True)
            outcomes.append(done)
    return outcomes


def main() -> None:
    """Parse the command line, try the tasks, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path, required=True, help="tasks, one JSON object a line")
    parser.add_argument("--limit", type=int, help="only the first N tasks")
    parser.add_argument("--within", type=float, default=60.0, help="seconds of wall clock for each task")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--only", default="", help="names of tasks, with commas between")
    parser.add_argument("--out", type=Path, help="also write the results there, one JSON object a line")
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--verbose", action="store_true", help="show the engine's progress")
    a = parser.parse_args()
    rows, bad = read(a.tasks)
    for fault in bad:
        print(f"no task: {fault}", file=sys.stderr)
    try:
        rows = choose_rows(rows, [name for name in a.only.split(",") if name], a.limit)
    except InvalidTask as error:
        raise SystemExit(str(error)) from None
    out = a.out.open("w", encoding="utf-8") if a.out else None
    print(total(asyncio.run(run(rows, a, out))))


if __name__ == "__main__":
    main()
