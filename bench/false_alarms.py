"""Measures how often the judge refuses right answers or accepts wrong ones, and how long a verdict takes.

    .venv/bin/python bench/false_alarms.py [--data HumanEval.jsonl.gz] [--repeat 1] [--parallel 2] [--only WORD]

Every answer is judged like a task's change: by the static checker, the tests that come with the task, must-fail copies,
held-out cases and the task's description. The sandboxes are started in advance, as in the daemon. The goal for both
kinds of errors is zero; the exit status is 1 if a goal is missed. A part of the judge is random, so `--repeat` judges
each answer several times.

The answers are the ordinary code of `bench/ordinary/`. `--data` adds the tasks of HumanEval (Chen et al., “Evaluating
Large Language Models Trained on Code”, 2021; 164 tasks, MIT licence), from `data/HumanEval.jsonl.gz` of
https://github.com/openai/human-eval. HumanEval has no wrong answers, so the benchmark makes up to two for each task: a
function that returns nothing, and the first mutant of the right answer that plainly fails the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, because its queue.py would hide the standard library's module

# ruff: noqa: E402 - the path comes first
import argparse
import ast
import asyncio
import gzip
import json
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from bench import ordinary
from bench.ordinary import KNOWN_REFUSALS
from bench.pairs import Pair
from nightshift.core.code.tree import FileTree
from nightshift.core.isolation import Ended, RunLimits
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.change_checks import ChangeCheckJob, Finding, Severity
from nightshift.core.tasks.held_out import SHARE
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.tasks.verdicts import SuiteJob, Verdict
from nightshift.sandbox import SNIPPET_LIMITS, choose, run_python
from nightshift.sandbox.pool import Warmed, warm
from nightshift.sandbox.runtime import Program, Runtime, open_runtime
from nightshift.verdict import mutation
from nightshift.verdict.checks.checker import StaticChecker
from nightshift.verdict.checks.hooks.hooks import CommandHooks
from nightshift.verdict.checks.policy import Policy
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.environments.wheels import Unobtainable, Unreachable
from nightshift.verdict.held.holding import hold
from nightshift.verdict.runner import SuiteRunner
from nightshift.verdict.word_examples import read_examples

T = TypeVar("T")

HUMAN_EVAL = "HumanEval"
MUTANTS = 6
GATE = StaticChecker(Policy(), CommandHooks(()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One answer to a task, with the judge's verdict on the answer."""

    pair: Pair
    right: bool
    verdict: Verdict
    findings: tuple[Finding, ...]
    took_s: float

    @property
    def missed(self) -> bool:
        """True if the judge refused a right answer or accepted a wrong one."""
        return self.right is not (self.verdict.passed and not (self.right and (self.findings or self.verdict.unmet)))

    @property
    def is_known(self) -> bool:
        """True if this right answer is on the list of known refusals."""
        return self.right and self.pair.name in KNOWN_REFUSALS

    @property
    def why(self) -> str:
        """Reasons for the judge's verdict, joined by semicolons."""
        findings = (f"{finding.rule}: {finding.message}" for finding in self.findings)
        return "; ".join([*findings, *self.verdict.unmet, self.verdict.reason])


def read(path: Path) -> list[Pair]:
    """Read HumanEval's tasks from a file.

    The tests import everything from the answer's module, because some tests need the module's helpers.
    """
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [_pair(json.loads(line)) for line in raw.splitlines() if line.strip()]


def _pair(row: dict[str, str]) -> Pair:
    name, right = row["entry_point"], row["prompt"] + row["canonical_solution"]
    tests = f"from {name} import *\n{row['test']}\n\ndef test_{name}():\n    check({name})\n"
    words = f"Write the function `{name}` in a new file `{name}.py`:\n\n```python\n{row['prompt'].strip()}\n```\n"
    return Pair(
        name=row["task_id"], path=f"{name}.py", test_path=f"test_{name}.py", tests=tests, right=right, wrong=(),
        words=words,
    )  # fmt: skip


async def with_wrong_answers(pair: Pair, sandbox: Sandbox) -> Pair:
    """Return the task with up to two wrong answers that fail the tests in a plain run."""
    mutants = mutation.mutants({pair.path: pair.right}, lambda _path: None, MUTANTS)
    wrong = list[str]()
    for text in (_nothing(pair), *(mutant.text for mutant in mutants)):
        if len(wrong) < 2 and await _fails(pair, text, sandbox):
            wrong.append(text)
    return replace(pair, wrong=tuple(wrong))


def _nothing(pair: Pair) -> str:
    """Return the right answer with the requested function changed so that it returns nothing."""
    tree = ast.parse(pair.right)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == pair.module:
            node.body = [ast.Return(value=None)]
    return ast.unparse(tree) + "\n"


async def _fails(pair: Pair, text: str, sandbox: Sandbox) -> bool:
    code = f"{pair.tests}\ntest_{pair.module}()\n"
    limits = replace(SNIPPET_LIMITS, wall_s=5.0)
    ran = await run_python(code, files={pair.path: text}, sandbox=sandbox, limits=limits)
    return ran.ended is Ended.EXITED and ran.exit_code == 1


class Judge:
    """Judges answers in one sandbox, with the packages that they may import."""

    def __init__(self, pool: Warmed, runtime: Runtime, folder: Path) -> None:
        self._layers = LayerStore(ROOT / ".runner" / "packages", runtime, environ=os.environ)
        self._suite = SuiteRunner(
            pool.sandbox, runtime, emit=lambda _event: None, staging_dir=folder / "staging", layers=self._layers
        )

    async def possible(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs whose packages can be installed, and print the others."""
        obtainable = list[Pair]()
        for pair in pairs:
            try:
                await self._packages(pair)
                obtainable.append(pair)
            except (Unobtainable, Unreachable) as error:
                print(f"left out: {pair.name}: {error}")
        return obtainable

    async def _packages(self, pair: Pair) -> Mapping[str, str]:
        return (await self._layers.satisfy(pair.packages)).packages if pair.packages else {}

    async def __call__(self, pair: Pair, text: str, *, right: bool) -> Judged:
        """Judge one answer."""
        base, change, given = FileTree(pair.base), pair.change(text), pair.given
        spec = TaskSpec(description=pair.name, tests=given, language=pair.language, packages=pair.packages)
        packages = await self._packages(pair)
        started = time.perf_counter()
        held = await asyncio.to_thread(hold, spec, base.entries(), SHARE)
        report = await GATE.examine(ChangeCheckJob(spec=spec, tree=base, change=change))
        job = SuiteJob(
            base=base, change=change, given=given, held=held, language=pair.language, packages=packages,
            limits=RunLimits(cpu_s=30.0), whole_tree=False, asked=pair.words,
        )  # fmt: skip
        verdict = await self._suite.judge(job)
        return Judged(
            pair=pair,
            right=right,
            verdict=verdict,
            findings=tuple(finding for finding in report.findings if finding.severity is not Severity.NOTE),
            took_s=time.perf_counter() - started,
        )


@asynccontextmanager
async def open_it(
    name: str, size: int, programs: Sequence[Program] = ()
) -> AsyncIterator[tuple[Warmed, Runtime, Path]]:
    """Yield a pool of sandboxes that are started in advance, the runtime inside them, and a temporary folder."""
    runtime = open_runtime(ROOT / ".runner", programs=programs)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        choice = await choose(name, runtime=runtime, scratch=Path(folder))
        if choice.sandbox is None:
            raise SystemExit(choice.report)
        pool = await warm(choice.sandbox, runtime, size=size)
        try:
            yield pool, runtime, Path(folder)
        finally:
            await pool.aclose()


async def run_in_turn(room: asyncio.Semaphore, work: Awaitable[T]) -> T:
    """Wait for a free place in the semaphore `room`, do the work, and return its result."""
    async with room:
        return await work


async def run(groups: Mapping[str, Sequence[Pair]], a: argparse.Namespace) -> dict[str, list[Judged]]:
    """Judge all answers, up to `--parallel` of them at the same time; return the verdicts by group."""
    room = asyncio.Semaphore(a.parallel)
    async with open_it(a.sandbox, a.parallel) as (pool, runtime, folder):
        print(f"in {pool.sandbox.name} ({pool.remark or 'started for each job'})", flush=True)
        judge, answers = Judge(pool, runtime, folder), dict[str, list[Judged]]()
        for name, pairs in groups.items():
            if name == HUMAN_EVAL:
                completions = (run_in_turn(room, with_wrong_answers(pair, pool.sandbox)) for pair in pairs)
                pairs = await asyncio.gather(*completions)  # noqa: PLW2901 (the same tasks, completed)
            some = await judge.possible(pairs)
            work = [judge(p, text, right=text is p.right) for _ in range(a.repeat) for p in some for text in p.answers]
            answers[name] = await asyncio.gather(*(run_in_turn(room, job) for job in work))
    return answers


def report(answers: Sequence[Judged]) -> bool:
    """Print the figures of a group of answers; return True if the goals for both kinds of errors are met."""
    exempt, goals = [answer for answer in answers if answer.is_known], list[bool]()
    for right, word in ((True, "right answers refused"), (False, "wrong answers accepted")):
        some = [answer for answer in answers if answer.right is right and not answer.is_known]
        missed = [answer for answer in some if answer.missed]
        labels = sorted({answer.verdict.evidence.label.value for answer in some if answer.verdict.passed})
        times = sorted(answer.took_s for answer in some)
        print(
            f"  {word}: {len(missed)} of {len(some)} (goal 0)" + (f"; passes are {', '.join(labels)}" if labels else "")
        )
        if right and (examples := [n for answer in some if (n := len(read_examples(answer.pair.words or "")))]):
            print(f"    {sum(examples)} examples in the words of {len(examples)} tasks, of {len(some)}")
        for name, count in Counter(answer.pair.name for answer in missed).items():
            why = next(answer.why for answer in missed if answer.pair.name == name)
            print(f"    {name}{f' ({count} times)' if count > 1 else ''}: {why}")
        if times:
            p95 = times[min(len(times) - 1, int(len(times) * 0.95))]
            print(f"    a verdict takes {statistics.median(times) * 1000:.0f} ms (median), {p95 * 1000:.0f} ms (95 %)")
        goals.append(not missed)
    if exempt:
        report_known(exempt)
    return all(goals)


def report_known(answers: Sequence[Judged]) -> None:
    """Print the results of right answers that are known to be refused; they do not count against the goals."""
    print(f"  known to be refused, and not counted above: {sum(answer.missed for answer in answers)} of {len(answers)}")
    for name in dict.fromkeys(answer.pair.name for answer in answers):
        accepted = sum(not answer.missed for answer in answers if answer.pair.name == name)
        print(
            f"    {name}: " + (f"ACCEPTED {accepted} times: take it off the list" if accepted else KNOWN_REFUSALS[name])
        )


def main() -> None:
    """Parse the command line, judge all answers, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="HumanEval.jsonl or HumanEval.jsonl.gz")
    parser.add_argument("--repeat", type=int, default=1, help="how often each answer is judged")
    parser.add_argument("--parallel", type=int, default=2, help="answers judged at the same time")
    parser.add_argument("--limit", type=int, help="only the first N tasks of each group")
    parser.add_argument("--only", default="", help="only the tasks with this in their name or path")
    parser.add_argument("--sandbox", default="auto")
    a = parser.parse_args()
    groups = {"ordinary code": list(ordinary.pairs())}
    if a.data:
        groups[HUMAN_EVAL] = read(a.data)
    chosen = {
        name: [pair for pair in group if a.only in f"{pair.name}: {pair.path}"][: a.limit]
        for name, group in groups.items()
    }
    if not any(chosen.values()):
        parser.error(f"no task is called {a.only!r}")
    started, goals = time.perf_counter(), list[bool]()
    for name, answers in asyncio.run(run({name: group for name, group in chosen.items() if group}, a)).items():
        print(f"{name}:")
        goals.append(report(answers))
    print(f"took {time.perf_counter() - started:.0f} s")
    if not all(goals):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
