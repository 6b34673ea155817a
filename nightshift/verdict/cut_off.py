"""What a limit of time cut off runs again alone before anything of it counts.

A run that is cut off says little about the test that it was in: tests before it may have used the time up, the limit
may have been the short one of a first run, the machine may have been busy. So that test runs again, in a sandbox of its
own, with the owner's whole limit and while nothing else runs. If it is cut off there too, it is to blame, and the tests
behind it were not reached. If it comes to its end, the whole suite runs again in the same way, and that run counts.

Only a run that came to its end can pass, in the usual way and with all that is asked of it: no limit makes a pass. An
endless test costs the whole limit once; with the same files it is known the next time, and costs a short one.

The repair engine counts the turns of loops, but that is no way to know an endless one sooner: a count is a bound like
seconds of processor time are, for Python alone, and taken from code that is not quite what is committed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace

from nightshift.core.isolation import SandboxLimits
from nightshift.verdict import judging
from nightshift.verdict.judging import Again, Judgement, Run
from nightshift.verdict.languages import plan
from nightshift.verdict.languages.plan import Plan
from nightshift.verdict.time_limits import SuiteTimes, TimeLimit

Once = Callable[[Plan, TimeLimit, bool], Awaitable[Run]]
"""Runs a plan within a limit; alone if asked to."""
_REMEMBERED = 256


class CutOffs:
    """Settles what limits of time leave open, and remembers the tests that are endless with some files.

    Args:
        times: what suites took when they passed.
    """

    def __init__(self, times: SuiteTimes) -> None:
        self._times = times
        self._endless = OrderedDict[tuple[str, str, SandboxLimits], Again]()

    async def settled(self, planned: Plan, whole: TimeLimit, proof: Once, run: Once) -> Run:
        """Run a plan until no limit leaves a question.

        Args:
            planned: what to run.
            whole: the owner's limit.
            proof: runs all of it.
            run: runs a part of it.

        Raises:
            SandboxError: nothing could be run.
        """
        found = await proof(planned, self._times.limit(planned, whole), False)
        if not _is_late(found):
            return found
        again = await self._again(found, whole, run)
        if again and again.cut:
            return replace(found, again=again)
        cut_in, found = found.cut_in, await proof(planned, whole, True)
        if found.was_cut_off:
            again = again if found.cut_in == cut_in else await self._again(found, whole, run)
        return replace(found, again=again) if found.was_cut_off else found

    async def _again(self, found: Run, whole: TimeLimit, run: Once) -> Again | None:
        """The test in which a run was cut off, alone; None where it was in none."""
        test = found.cut_in
        if not test:
            return None
        key = found.digest, found.names.id(test), found.limits
        if known := self._endless.get(key):
            return replace(known, cut=f"{known.cut}, in an earlier run of the same files")
        only = test.partition("::")[0] if found.plan.launch else test  # node:test is started for whole files
        alone = await run(replace(plan.originals(found.plan), only=(only,), split=None), whole, True)
        if not alone.was_cut_off:
            return _ended(judging.judge(alone), key[1])
        if alone.cut_in != test:
            return None
        if alone.answer and alone.answer.session.limit != "clock":  # which a busy machine may have reached
            self._endless[key] = Again(cut=alone.cut)
            while len(self._endless) > _REMEMBERED:
                self._endless.popitem(last=False)
        return Again(cut=alone.cut)


def _ended(judged: Judgement, test: str) -> Again | None:
    """How a test ended alone; None where its run was stopped by something else."""
    results = tuple(one for one in judged.results if one.id.partition("[")[0] == test)
    failures = tuple(one for one in judged.failures if one.id.partition("[")[0] == test)
    return None if judged.stopped or not results else Again(results=results, failures=failures)


def _is_late(found: Run) -> bool:
    """Tell whether a limit of time decided; of a command that is no framework's nothing else is known."""
    return found.was_cut_off or (not found.plan.command and judging.judge(found).late)
