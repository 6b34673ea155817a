"""What self-written tests are worth beyond passing: they fail without the change, and notice faults put into it.

At least half of the mutants must make a test fail. All of them would be too much to ask, because some cannot be told
from the original (`x < y` where the two are never equal) and one helper that the tests do not reach should not sink
them. One alone would be too little, because a test that only calls the code notices the faults that raise errors. Tests
that look at types or truth alone notice less than half, since most of the mutants give another value of the right type.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from core.tree import text_of
from core.verdicts import Result, SuiteJob
from verdict import judging, plan
from verdict.judging import Judgement, Run
from verdict.must_fail import Role
from verdict.mutation import Mutant, mutants
from verdict.suite_runs import Rounds

AT_ONCE = 2
SHORTEST_S, LONGEST = 2.0, 5.0
"""A run on a mutant may take this many seconds, or so many times what the tests took on the code itself."""
SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharpness:
    """How many mutants were tried, and those that no test noticed; trying stops when it is decided."""

    tried: int
    survivors: tuple[Mutant, ...]
    needed: int

    @property
    def suffices(self) -> bool:
        """Tell whether enough were noticed."""
        return self.tried - len(self.survivors) >= self.needed

    @property
    def note(self) -> str:
        """The finding for the evidence."""
        if not self.tried:
            return "no mutants: the change holds no Python function that could be broken"
        return f"{self.tried - len(self.survivors)} of {self.tried} mutants killed"


async def prove_own(job: SuiteJob, run: Run, found: Judgement, rounds: Rounds) -> Judgement:
    """The judgement of a passing run with what its self-written tests are worth; as it is where there are none.

    Raises:
        SandboxError: nothing could be run.
    """
    own = {file.path for file in run.plan.files if file.role is Role.OWN}
    if not (found.passed and own) or job.own_proven:
        return found
    weak = tuple(result.id for result in found.results if result.id.partition("::")[0] in own)
    if not await rounds.is_red(job):
        reason = "the self-written tests pass without the change too: they prove nothing"
        return replace(found, reason=reason, weak=weak)
    sharpness = await _measured(job, run, rounds)
    found = replace(found, notes=(*found.notes, sharpness.note))
    return found if sharpness.suffices else replace(found, reason=_blunt(sharpness), weak=weak)


async def _measured(job: SuiteJob, run: Run, rounds: Rounds) -> Sharpness:
    """Try mutants, two at a time, until half of them are killed or cannot be any more."""
    change = {path: text for path, text in job.change.items() if path not in run.plan.dropped}
    found = await asyncio.to_thread(mutants, change, _without(job))
    needed, tried, survivors = (len(found) + 1) // 2, 0, list[Mutant]()
    wall_s = max(SHORTEST_S, LONGEST * run.answer.session.duration_s if run.answer else 0.0)
    while tried < len(found) and tried - len(survivors) < needed and len(survivors) <= len(found) - needed:
        pair = found[tried : tried + AT_ONCE]
        killed = await asyncio.gather(*(_is_killed(job, mutant, wall_s, rounds) for mutant in pair))
        survivors += [mutant for mutant, gone in zip(pair, killed, strict=True) if not gone]
        tried += len(pair)
    return Sharpness(tried=tried, survivors=tuple(survivors), needed=needed)


async def _is_killed(job: SuiteJob, mutant: Mutant, wall_s: float, rounds: Rounds) -> bool:
    """Tell whether a self-written test fails on a mutant, or does not come to its end."""
    change = {**job.change, mutant.path: mutant.text}
    broken = replace(job, change=change, given={}, command=(), regression=(), wall_s=wall_s)
    found = judging.judge(await rounds.run(broken, plan.tests_alone(await rounds.plan(broken))))
    return found.stopped or any(result.result is not Result.PASSED for result in found.results)


def _without(job: SuiteJob) -> Callable[[str], str | None]:
    """Reads files as they are without the change."""

    def before(path: str) -> str | None:
        if path in job.start:
            return job.start[path]
        return text_of(job.base, path)

    return before


def _blunt(sharpness: Sharpness) -> str:
    stories = [mutant.story for mutant in sharpness.survivors[:SHOWN]]
    more = len(sharpness.survivors) - len(stories)
    also = f", and {more} more" if more else ""
    return f"the self-written tests prove too little: they go on passing when {'; when '.join(stories)}{also}"
