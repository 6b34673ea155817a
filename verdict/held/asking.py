"""Asks the tested code for the results of held-out cases, and the owner's oracle for what they should be.

The two are never run in one process or one sandbox, nor in that of the tests: code that has seen the whole tests could
leave their answers behind there, in a file or in shared memory. Only names of functions and inputs enter either; what
comes out is compared here. The calls are made in the order of the tests, those that the model knows among them. The
order helps no one who does not know the answers, and a function that keeps a state finds it as it would in the tests.

An oracle is asked once for a tree, and for further inputs beside the given ones. Where it refuses one of those nothing
is expected, since it may be none that the task allows.
"""

from __future__ import annotations

import posixpath
import random
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core import literals
from core.held import Compare, ValueCase, digest
from core.isolation import Ended
from core.verdicts import SuiteJob
from sandbox.inside import values
from verdict import answer
from verdict.answer import Reply
from verdict.held.variants import variants
from verdict.held.weighing import Finding, plainly, weigh
from verdict.plan import Plan, calls_alone
from verdict.suite_runs import Rounds

REMEMBERED = 64
BY_VALUE = frozenset({Compare.STRICT, Compare.EQUAL, Compare.SAME, Compare.NEAR, Compare.WITHIN})
TRUTHS = frozenset({"True", "False", "None", None})
ENOUGH = 3
"""So many truths are not guessed by chance alone."""
ROUNDING = 1e-9
"""Two right ways to the same float may differ by that much, relatively."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run of calls proved.

    `stopped` says why it did not come to its end; `tree` is the digest of its files. `tampering` is as in a verdict.
    """

    findings: tuple[tuple[ValueCase, Finding], ...] = ()
    stopped: str = ""
    tree: str = ""
    notes: tuple[str, ...] = ()
    tampering: str = ""

    @property
    def judged(self) -> int:
        """How many cases that no prompt shows gave the right value."""
        return sum(found is Finding.RIGHT and not case.shown for case, found in self.findings)

    @property
    def verifies(self) -> bool:
        """Tell whether all cases that no prompt shows gave the right value, and these say more than a guess would.

        A truth is guessed in every second case. So it takes a value, or an owner's own case, or several truths of which
        some are true and some are not; a function that always says the same gives no such answers.
        """
        unseen = [(case, found) for case, found in self.findings if not case.shown]
        if not unseen or any(found is not Finding.RIGHT for _, found in unseen):
            return False
        cases = [case for case, _ in unseen]
        values = {case.expect for case in cases if case.compare in BY_VALUE}
        truths = [case for case in cases if case.expect in TRUTHS]
        return (
            any(case.explicit for case in cases) or bool(values - TRUTHS) or (len(values) > 1 and len(truths) >= ENOUGH)
        )

    @property
    def wrong(self) -> tuple[tuple[ValueCase, Finding], ...]:
        """The cases that went wrong."""
        fine = {Finding.RIGHT, Finding.UNKNOWN}
        return tuple((case, found) for case, found in self.findings if found not in fine)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replies:
    replies: Sequence[Reply | None]
    stopped: str
    tree: str
    garbled: bool


class Asker:
    """Runs held-out cases.

    Args:
        rounds: runs plans in a sandbox.
        further: how many inputs an oracle is asked for beside the given ones.
    """

    def __init__(self, rounds: Rounds, further: int) -> None:
        self._rounds, self._further = rounds, further
        self._oracles: OrderedDict[tuple[object, ...], tuple[ValueCase, ...]] = OrderedDict()

    async def ask(self, job: SuiteJob) -> Asked:
        """Run the job's held-out cases on its changed tree.

        Raises:
            SandboxError: nothing could be run.
        """
        cases, notes = await self._expected(job)
        planned = await self._rounds.planned(job)
        known = [case for case in cases if case.explicit or _has_module(case, planned, job)]
        if not known:
            return Asked(notes=(*notes, "no held-out case could be called"))
        got = await self._replies(job, planned, known)
        findings = [(case, weigh(case, reply)) for case, reply in zip(known, got.replies, strict=True)]
        unknown = sum(finding is Finding.UNKNOWN and not case.shown for case, finding in findings)
        said = [f"{unknown} held-out cases could not be judged by value"] if unknown else []
        return Asked(
            findings=tuple(findings), stopped=got.stopped, tree=got.tree, notes=(*notes, *said),
            tampering="the report of the held-out calls holds what is no answer to one" if got.garbled else "",
        )  # fmt: skip

    async def _expected(self, job: SuiteJob) -> tuple[Sequence[ValueCase], tuple[str, ...]]:
        """The cases with what they must give, the oracle's among them."""
        held = job.held
        open_ = [case for case in held.cases if case.expect is None and case.compare is Compare.STRICT]
        rest = [case for case in held.cases if case not in open_]
        if not open_:
            return rest, ()
        key = (job.base.commit, digest(job.start), digest(held.oracle), *open_)
        if key not in self._oracles:
            self._oracles[key] = await self._of_oracle(job, open_)
            while len(self._oracles) > REMEMBERED:
                self._oracles.popitem(last=False)
        answered = self._oracles[key]
        if answered:
            return [*rest, *answered], ()
        return rest, ("the oracle answered nothing",)

    async def _of_oracle(self, job: SuiteJob, open_: Sequence[ValueCase]) -> tuple[ValueCase, ...]:
        chance = random.Random(digest({**job.held.oracle, "": repr(open_)}))  # noqa: S311 (repeatable, no secret)
        further = variants(open_, self._further, chance)
        alone = replace(job, change=job.held.oracle, given={}, own={}, regression=(), command=())
        got = await self._replies(alone, await self._rounds.plan(alone), [*open_, *further])
        answered: list[ValueCase] = []
        for number, (case, reply) in enumerate(zip((*open_, *further), got.replies, strict=True)):
            if reply and plainly(reply) and (expect := _written(reply)):
                answered.append(replace(case, expect=expect, rel=case.rel if case.rel is not None else ROUNDING))
            elif reply and reply.how == "raised" and number < len(open_):
                names = tuple(map(str, reply.data[:1])) if isinstance(reply.data, list) else ()
                answered.append(replace(case, compare=Compare.RAISES, raises=names))
        return tuple(answered)

    async def _replies(self, job: SuiteJob, planned: Plan, cases: Sequence[ValueCase]) -> _Replies:
        calls = [(case.module, case.function, *_packed(case)) for case in cases]
        alone = calls_alone(planned, job.base.entries(), calls)
        ready, result = await self._rounds.executed(job, alone)
        got = answer.read_calls(result, ready.key)
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


def _written(reply: Reply) -> str:
    """An oracle's result as text; empty where it has no literal."""
    try:
        return literals.write(values.unpack(reply.data))
    except ValueError:
        return ""


def _packed(case: ValueCase) -> tuple[object, object]:
    arguments = literals.read(case.args)
    named = literals.read(case.kwargs)
    return values.pack(arguments), values.pack(named)


def _has_module(case: ValueCase, planned: Plan, job: SuiteJob) -> bool:
    """Tell whether the tree holds the module that is called; a test may import one from where only it looks."""
    stem = case.module.replace(".", "/")
    present = (job.base.entries().keys() - set(planned.removed)) | planned.texts.keys()
    roots = [posixpath.normpath(path) for path in planned.paths]
    names = (f"{stem}.py", f"{stem}/__init__.py")
    return any(posixpath.normpath(posixpath.join(root, name)) in present for root in roots for name in names)
