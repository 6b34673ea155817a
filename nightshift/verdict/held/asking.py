"""Calls the tested code to get the results of held-out cases, and calls the owner's oracle to get the expected results.

The tested code and the oracle never share a process or a sandbox, neither with each other nor with the tests, because
code that has seen all the tests could leave the answers in a file or in shared memory. Only names of functions and
inputs enter the two sandboxes; the results are compared here. The calls are made in the order of the tests, and they
include the calls that the model has seen. The order does not reveal the answers, and a function with state finds the
same state as in the tests.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nightshift.core.code import literals
from nightshift.core.isolation import Ended
from nightshift.core.tasks.held_out import Compare, HeldOut, ValueCase
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.inside import values
from nightshift.verdict import answer
from nightshift.verdict.answer import Reply
from nightshift.verdict.held.weighing import Finding, plainly, weigh
from nightshift.verdict.languages.plan import Plan, calls_alone
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift.verdict.time_limits import FIRST_S

BY_VALUE = frozenset({Compare.STRICT, Compare.EQUAL, Compare.SAME, Compare.NEAR, Compare.WITHIN})
TRUTHS = frozenset({"True", "False", "None", None})
ENOUGH = 3
"""Minimum number of cases if all expected results are truth values; the results of fewer cases could be guessed."""
ROUNDING = 1e-9
"""Relative tolerance between floats, because two right ways to compute a result may round differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The result of running held-out cases.

    Attributes:
        findings: each case with the judgement of its result.
        stopped: the reason why the run did not end normally; empty if it did.
        tree: the digest of the files that ran.
        notes: remarks for the evidence.
        is_forged: true if the channel contained lines that do not answer a call.
    """

    findings: tuple[tuple[ValueCase, Finding], ...] = ()
    stopped: str = ""
    tree: str = ""
    notes: tuple[str, ...] = ()
    is_forged: bool = False

    @property
    def judged(self) -> int:
        """The number of cases that no prompt shows and that gave the right value."""
        return sum(finding is Finding.RIGHT and not case.shown for case, finding in self.findings)

    @property
    def verifies(self) -> bool:
        """True if all cases that no prompt shows gave the right value, and a guess could not have achieved that.

        A guessed truth value is right in half of the cases. So at least one of these conditions must hold: an expected
        value is not a truth value; the owner wrote a case; or there are at least `ENOUGH` expected truth values that
        are not all equal, so that a constant function would fail.
        """
        unseen = [(case, finding) for case, finding in self.findings if not case.shown]
        if not unseen or any(finding is not Finding.RIGHT for _, finding in unseen):
            return False
        cases = [case for case, _ in unseen]
        values = {case.expect for case in cases if case.compare in BY_VALUE}
        truths = [case for case in cases if case.expect in TRUTHS]
        return (
            any(case.explicit for case in cases) or bool(values - TRUTHS) or (len(values) > 1 and len(truths) >= ENOUGH)
        )

    @property
    def wrong(self) -> tuple[tuple[ValueCase, Finding], ...]:
        """The cases with a wrong result."""
        fine = {Finding.RIGHT, Finding.UNKNOWN}
        return tuple((case, finding) for case, finding in self.findings if finding not in fine)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replies:
    replies: Sequence[Reply | None]
    stopped: str
    tree: str
    garbled: bool


class Asker:
    """Runs held-out cases.

    Args:
        runs: runs plans in a sandbox.
    """

    def __init__(self, runs: SuiteRuns) -> None:
        self._runs = runs

    async def ask(self, job: SuiteJob) -> Asked:
        """Run the job's held-out cases on its changed tree.

        Raises:
            SandboxError: nothing could be run.
        """
        cases, notes = await self._list_expected(job)
        planned = await self._runs.planned(job)
        callable_cases = [case for case in cases if case.explicit or _has_module(case, planned, job)]
        if not callable_cases:
            return Asked(notes=(*notes, "no held-out case could be called"))
        got = await self._replies(job, planned, callable_cases)
        findings = [(case, weigh(case, reply)) for case, reply in zip(callable_cases, got.replies, strict=True)]
        unknown = sum(finding is Finding.UNKNOWN and not case.shown for case, finding in findings)
        unjudged = [f"{unknown} held-out cases could not be judged by value"] if unknown else []
        return Asked(
            findings=tuple(findings), stopped=got.stopped, tree=got.tree, notes=(*notes, *unjudged),
            is_forged=got.garbled,
        )  # fmt: skip

    async def call(self, job: SuiteJob, cases: Sequence[ValueCase]) -> Sequence[Reply | None]:
        """Make calls on the job's changed tree, without its tests; a call without a reply gives None.

        Raises:
            SandboxError: nothing could be run.
        """
        alone = replace(job, given={}, own={}, regression=(), command=(), held=HeldOut(cases=tuple(cases)))
        return (await self._replies(alone, await self._runs.plan(alone), cases)).replies

    async def select(self, job: SuiteJob, cases: Sequence[ValueCase]) -> list[ValueCase]:
        """Return the cases whose module is in the job's tree.

        A module is missing from the tree if the test imports it from a folder that only the test adds to the import
        path.
        """
        planned = await self._runs.planned(job)
        return [case for case in cases if _has_module(case, planned, job)]

    async def roots(self, job: SuiteJob) -> Sequence[str]:
        """Return the folders of the job's tree from which modules are imported."""
        return (await self._runs.planned(job)).paths

    async def _list_expected(self, job: SuiteJob) -> tuple[Sequence[ValueCase], tuple[str, ...]]:
        """Return the cases with their expected results, and notes.

        The oracle supplies the expected results that are not given.
        """
        held = job.held
        open_ = [case for case in held.cases if case.expect is None and case.compare is Compare.STRICT]
        rest = [case for case in held.cases if case not in open_]
        if not open_:
            return rest, ()
        if answered := await self._of_oracle(job, open_):
            return [*rest, *answered], ()
        return rest, ("the oracle answered nothing",)

    async def _of_oracle(self, job: SuiteJob, open_: Sequence[ValueCase]) -> tuple[ValueCase, ...]:
        alone = replace(job, change=job.held.oracle, given={}, own={}, regression=(), command=())
        got = await self._replies(alone, await self._runs.plan(alone), open_)
        answered: list[ValueCase] = []
        for case, reply in zip(open_, got.replies, strict=True):
            if reply and plainly(reply) and (expect := _write_literal(reply)):
                answered.append(replace(case, expect=expect, rel=case.rel if case.rel is not None else ROUNDING))
            elif reply and reply.how == "raised":
                names = tuple(map(str, reply.data[:1])) if isinstance(reply.data, list) else ()
                answered.append(replace(case, compare=Compare.RAISES, raises=names))
        return tuple(answered)

    async def _replies(self, job: SuiteJob, planned: Plan, cases: Sequence[ValueCase]) -> _Replies:
        calls = [(case.module, case.function, *_pack_case(case)) for case in cases]
        alone = calls_alone(planned, job.base.entries(), calls)
        time_limit = self._runs.time(job)
        for time in (
            time_limit.at_most(FIRST_S),
            time_limit,
        ):  # If the calls exceed the short limit, they run again alone with the full limit.
            ready, result = await self._runs.executed(job, alone, time, alone=time is time_limit)
            got = answer.read_calls(result, ready.key)
            if not (result.ended is Ended.TIMEOUT or (got and got.how == "timeout")):
                break
        stopped = ""
        if result.ended is Ended.OUT_OF_MEMORY:
            stopped = "use too much memory"
        elif result.ended is Ended.TIMEOUT or (got and got.how == "timeout"):
            stopped = "do not end in time"
        elif got is None or got.how != "exited" or got.exit_code != 0 or len(got.replies) < len(cases):
            stopped = "end the process that makes them, or print without end"
        return _Replies(
            replies=[got.replies.get(number) if got else None for number in range(len(cases))],
            stopped=stopped,
            tree=ready.digest,
            garbled=bool(got and (got.garbled or any(number not in range(len(cases)) for number in got.replies))),
        )


def _write_literal(reply: Reply) -> str:
    """Write an oracle's result as the text of a Python literal; empty if the result is not a literal."""
    try:
        return literals.write(values.unpack(reply.data))
    except ValueError:
        return ""


def _pack_case(case: ValueCase) -> tuple[object, object]:
    arguments = literals.read(case.args)
    named = literals.read(case.kwargs)
    return values.pack(arguments), values.pack(named)


def _has_module(case: ValueCase, planned: Plan, job: SuiteJob) -> bool:
    """Check whether the tree has the called module.

    A module can be missing because a test may add folders to the import path that are unknown here.
    """
    stem, below = case.module.replace(".", "/"), job.base.entries()
    names = (f"{stem}.py", f"{stem}/__init__.py")
    places = (posixpath.normpath(posixpath.join(root, name)) for root in planned.paths for name in names)
    return any(path in planned.texts or (path in below and path not in planned.removed) for path in places)
