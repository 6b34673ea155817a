"""Measures how often the built-in engine fixes a random fault in one of our small programs, by kind of fault.

    .venv/bin/python engine/bench/mutants.py [--count 60] [--seed 1] [--within 30]

The programs are in `programs/`; the faults come from `breakage.py`, which is independent of the engine's edits. The
seed splits each program's tests: most are given to the engine, the rest are hidden and show whether a fix is right or
only fits the given tests. Some cases of the given tests are held out, as in the daemon. A fault counts only if the
remaining cases detect it. The goal is 90 % of single faults, each within 30 s; the exit status is 1 if it is missed.
Faults that remove code that is nowhere else in the program (such as a deleted statement that resembles no other) are
counted separately.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[0] = str(ROOT)  # not this folder, so that `engine.bench` can be imported

# ruff: noqa: E402 - the path comes first
import argparse
import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from engine.bench.breakage import Fault, by_kind, same
from engine.bench.corpus import Program, part_tests, programs
from engine.bench.harness import Harness, Outcome, Row, describe, harness_on, middle
from nightshift.core.tasks.task import TaskSpec

GOAL = 0.9
GIVEN = 0.7
"""Share of the tests that the engine sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One fault and its outcome; `restored` is true if the fixed program equals the original."""

    fault: Fault
    done: Outcome
    restored: bool


def row_of(program: Program, fault: Fault, seed: int) -> Row:
    """Make the task for a program with a fault."""
    given, hidden = part_tests(program.tests, f"{seed} {program.name}", GIVEN)
    spec = TaskSpec(
        description=f"{program.name} is broken; make its tests pass",
        files={program.path: fault.text},
        tests={program.test_path: given},
    )
    name = f"{program.name}:{fault.line} {fault.kind}"
    return Row(name=name, spec=spec, hidden={f"test_hidden_{program.name}.py": hidden})


def draw_fault(choices: Sequence[Program], chance: random.Random) -> tuple[Program, Fault]:
    """Draw a program with a fault, with equal chances for programs and for kinds of faults."""
    program = chance.choice(choices)
    kinds = by_kind(program.text)
    return program, chance.choice(kinds[chance.choice(sorted(kinds))])


@dataclass(slots=True)
class Draws:
    """Randomly drawn faults; `unseen` counts those that only held-out checks detect."""

    count: int
    seed: int
    unseen: int = 0

    async def find_noticed(self, here: Harness) -> AsyncIterator[tuple[Program, Fault, Row]]:
        """Yield the wanted number of faults that the tests shown to the engine detect."""
        chance, choices, seen = (
            random.Random(f"{self.seed} 1"),
            programs(),
            set[str](),
        )  # the README's figures are of these
        while len(seen) < self.count:
            draw = draw_fault(choices, chance)
            if draw[1].text in seen:
                continue
            row = row_of(*draw, self.seed)
            if (await here.judge(row, {})).passed:
                continue
            if (await here.judge(await here.show_given(row), {})).passed:
                self.unseen += 1
                continue
            seen.add(draw[1].text)
            yield *draw, row


async def run(draws: Draws, a: argparse.Namespace) -> list[Tried]:
    """Try each fault in turn, and print its outcome immediately."""
    trials = list[Tried]()
    async with harness_on(a.cores) as here:
        async for program, fault, row in draws.find_noticed(here):
            done = await here.repair(row, a.within)
            text = (done.change or {}).get(program.path) or ""
            trials.append(Tried(fault=fault, done=done, restored=same(text, program.text)))
            print(describe(done), "= the original" if trials[-1].restored else "", flush=True)
    return trials


def report(trials: Sequence[Tried]) -> bool:
    """Print the figures by kind; return True if the goal is met."""
    kinds = defaultdict[str, list[Tried]](list)
    for trial in trials:
        kinds["(lost)" if trial.fault.lost else trial.fault.kind].append(trial)
    print(f"\n{'kind of fault':22}{'fixed':>10}{'right':>7}{'same':>6}{'median s':>10}{'candidates':>12}")
    for kind in sorted(kinds):
        print(_line(kind, kinds[kind]))
    if len(kinds) > 1:
        print(_line("all", trials))
    rest = [trial for trial in trials if not trial.fault.lost]
    fixed = [trial.done for trial in rest if trial.done.fixed]
    share = len(fixed) / len(rest) if rest else 0.0
    wrong = sum(done.wrong for done in fixed)
    took = middle([done.took_s for done in fixed])
    print(f"fixed {len(fixed)} of {len(rest)}, {share:.0%} (goal {GOAL:.0%}), in {took}; ", end="")
    print(f"{wrong} of {len(fixed)} fail hidden tests")
    lost = [trial.done.fixed for trial in trials if trial.fault.lost]
    print(f"besides, {sum(lost)} of {len(lost)} faults that took away what stands nowhere else in the program")
    return share >= GOAL


def _line(kind: str, trials: Sequence[Tried]) -> str:
    fixed = sorted((trial for trial in trials if trial.done.fixed), key=lambda trial: trial.done.took_s)
    right = sum(not trial.done.wrong for trial in fixed)
    restored = sum(trial.restored for trial in fixed)
    took = f"{fixed[len(fixed) // 2].done.took_s:.1f}" if fixed else "-"
    tried = sum(trial.done.tried for trial in trials) // len(trials)
    return f"{kind:22}{f'{len(fixed)} of {len(trials)}':>10}{right:7}{restored:6}{took:>10}{tried:12}"


def main() -> None:
    """Parse the command line, try the faults, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="how many faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=float, default=30.0, help="seconds of wall clock for each fault")
    parser.add_argument("--cores", type=int, default=2)
    a = parser.parse_args()
    draws = Draws(a.count, a.seed)
    met = report(asyncio.run(run(draws, a)))
    print(f"{draws.unseen} more are noticed by held-out checks alone and were passed over")
    if not met:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
