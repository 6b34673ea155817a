"""Mutants of a change: small faults put into the functions that it added or altered, for its own tests to notice.

Only lines that the change wrote are touched, one fault a mutant. What is tried is chosen without chance, so that the
same change gets the same mutants whenever it is judged: spread over functions and kinds of faults, those first that
nearly always show (another value returned, an arithmetic sign), those last that often cannot be told from the original
(a text, a boundary that is never met). The operators are those of the field (DeMillo, Lipton & Sayward, "Hints on test
data selection", 1978; Offutt et al., "An experimental determination of sufficient mutant operators", 1996), with one
more: the value of the right type that is not the right one, which a test that looks at types alone lets pass.

At least half of the mutants must make a test fail. All of them would be too much to ask, because some cannot be told
from the original (`x < y` where the two are never equal) and one helper that the tests do not reach should not sink
them. One alone would be too little, because a test that only calls the code notices the faults that raise errors. Tests
that look at types or truth alone notice less than half, since most of the mutants give another value of the right type.
Tests that were written again may not notice fewer mutants than the version before.

Where the change brings no test of its own and only alters existing ones, these must notice two thirds of more
mutants: they were altered for what they contradicted, and may say nothing of what else the task asked for. If they do
not, tests are written.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from nightshift.core.code.line_changes import written
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.findings import Control, Finding, FindingKind
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import SuiteJob, TriedMutant
from nightshift.core.text.encoding import encode
from nightshift.verdict.languages import dialect_of, language_of, plan
from nightshift.verdict.languages.dialect import Fault, Text
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.run import NativeRun
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift.verdict.time_limits import TimeLimit

MOST, MOST_ALTERED = 4, 8
_OF_WRITTEN, _OF_ALTERED = 0.5, 2 / 3
"""How many mutants are tried, and the share that must be noticed: by tests that were written, or only altered."""
MAX_BYTES = 200_000
"""Larger files get no mutants: they are generated, or take longer to look at than is worth it."""

_RARELY_TESTED = frozenset({"main", "__repr__", "__str__", "__hash__"})
AT_ONCE = 2
MOST_STORY = 300
"""Characters of a mutant's story that are kept as evidence."""
SHORTEST_S, LONGEST = 2.0, 5.0
"""A run on a mutant may take this many seconds of processor time, or so many times what the code itself took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A file of the change with one fault in it: `text` is all of it, `was` and `now` the faulty place in short."""

    path: str
    line: int
    function: str
    was: str
    now: str
    text: str

    @property
    def story(self) -> str:
        """What was done, in words for whoever wrote the tests."""
        return f"`{self.was}` in {self.function} ({self.path}:{self.line}) becomes {self.now}"


def mutants(
    change: Change, before: Callable[[str], str | None], most: int = MOST, aside: Collection[str] = _RARELY_TESTED
) -> tuple[Mutant, ...]:
    """The mutants of a change's files of Python, JavaScript and Go, the most telling first.

    Args:
        change: path to new text; what is removed has no mutants.
        before: the text of a file without the change, None where there is none.
        most: how many at most.
        aside: functions whose mutants come last.
    """
    found = [c for path, text in sorted(change.items()) if text for c in _of_file(path, text, before(path))]
    return tuple(_spread(found, most, aside))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    path: str
    function: str
    original: str
    fault: Fault
    make: Text

    def rank(self, aside: Collection[str]) -> int:
        """How likely it is that the fault never shows."""
        return self.fault.rank + 2 * (self.function.rpartition(".")[2] in aside)

    @property
    def tie_breaker(self) -> str:
        """What decides between equals."""
        place = f"{self.path}\0{self.function}\0{self.fault.kind}\0{self.fault.edit.start}\0{self.original}"
        return hashlib.sha256(encode(place)).hexdigest()


def _of_file(path: str, text: str, before: str | None) -> Iterator[_Candidate]:
    language = language_of(path)
    if language is None or len(text) > MAX_BYTES:
        return
    original = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = written(before or "", original)
    for name, fault, mutant in dialect_of(language).mutated(path, text, lines):
        yield _Candidate(path=path, function=name, original=original, fault=fault, make=mutant)


def _spread(found: list[_Candidate], most: int, aside: Collection[str]) -> Iterator[Mutant]:
    """Pick one after the other what tells most: a function or kind of fault counts less each time it was taken.

    Only what is picked is made: the text of each fault of a long file would take longer than the tests.
    """
    functions, kinds = Counter[tuple[str, str]](), Counter[str]()
    left = sorted(found, key=lambda candidate: candidate.tie_breaker)
    while left and most:
        best = min(left, key=lambda c: c.rank(aside) + functions[c.path, c.function] + kinds[c.fault.kind])
        left.remove(best)
        text = best.make()
        if text is None:
            continue
        most -= 1
        yield _mutant(best, text)
        functions[best.path, best.function] += 1
        kinds[best.fault.kind] += 1


def _mutant(candidate: _Candidate, text: str) -> Mutant:
    fault = candidate.fault
    return Mutant(
        path=candidate.path,
        line=fault.line,
        function=candidate.function,
        was=fault.was,
        now=fault.now,
        text=text,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationScore:
    """The mutants that were tried, and by which test each was noticed (`TriedMutant.by`; None where none did).

    Trying stops when it is decided.
    """

    tried: tuple[tuple[Mutant, str | None], ...]
    needed: int

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        """Those that no test noticed."""
        return tuple(mutant for mutant, by in self.tried if by is None)

    @property
    def killed(self) -> int:
        """How many were noticed."""
        return len(self.tried) - len(self.survivors)

    @property
    def suffices(self) -> bool:
        """Tell whether enough were noticed."""
        return self.killed >= self.needed

    @property
    def note(self) -> str:
        """The finding for the evidence."""
        if not self.tried:
            return "no mutants: the change holds no Python function that could be broken"
        but = f"; no test notices when {_stories(self.survivors)}" if self.survivors else ""
        return f"{self.killed} of {len(self.tried)} mutants killed{but}"

    def told(self) -> Iterator[TriedMutant]:
        """What is kept of each as evidence."""
        for one, by in self.tried:
            yield TriedMutant(
                path=one.path, line=one.line, noticed=by is not None, what=one.story[:MOST_STORY], by=by or ""
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTests:
    """What the tests of the agent's own are worth: findings, a note, the mutants that were tried."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    mutants: tuple[TriedMutant, ...] = ()


async def prove_own(job: SuiteJob, planned: Plan, native: NativeRun, runs: SuiteRuns) -> OwnTests:
    """Say what self-written tests are worth that pass: they must fail without the change, and notice faults in it.

    Where nothing was changed, there is nothing without which they could fail.

    Raises:
        SandboxError: nothing could be run.
    """
    own = [file.path for file in planned.files if file.role is Role.OWN]
    if not own or job.own_proven:
        return OwnTests()
    if not changes_anything(job):
        return OwnTests(notes=("nothing was changed: the self-written tests pass as things are",))
    if not await runs.fails_before(job):
        says = "the self-written tests pass without the change too: they prove nothing"
        return OwnTests(
            findings=(Finding(kind=FindingKind.GREEN_BEFORE, where=own[0], says=says, control=Control.BASE),)
        )
    change = {path: text for path, text in job.change.items() if path not in planned.dropped}
    altered = all(text_of(job.base, path) is not None for path in own)
    most, aside = (MOST_ALTERED, ()) if altered else (MOST, _RARELY_TESTED)
    broken = await asyncio.to_thread(mutants, change, _without(job), most, aside)
    time = _time(job, native, runs)
    share = _OF_ALTERED if altered else _OF_WRITTEN
    score = await _measured(job, broken, math.ceil(len(broken) * share), time, runs)
    told = OwnTests(notes=(score.note,), mutants=tuple(score.told()))
    says = "" if score.suffices else f"the self-written tests prove too little: {_blunt(score.survivors)}"
    if not says:
        noticed = await _noticed_before(job, broken, time, runs) if job.former and score.survivors else ()
        lost = tuple(mutant for mutant in score.survivors if mutant in noticed)
        if len(noticed) > score.killed:
            says = f"the self-written tests were written again and notice less than before: {_blunt(lost)}"
    return replace(told, findings=(Finding(kind=FindingKind.MUTANTS, where=own[0], says=says),)) if says else told


def _time(job: SuiteJob, native: NativeRun, runs: SuiteRuns) -> TimeLimit:
    """How long a run on a mutant may take."""
    cpu_s, idle_s = (max(SHORTEST_S, LONGEST * each) for each in (native.cpu_s, native.wall_s))
    return runs.time(job).at_most(cpu_s, idle_s=idle_s)


async def _measured(
    job: SuiteJob, found: Sequence[Mutant], needed: int, time: TimeLimit, runs: SuiteRuns
) -> MutationScore:
    """Try mutants, two at a time, until enough are killed or cannot be any more; all where there is a former."""
    score = MutationScore(tried=(), needed=needed)
    while (at := len(score.tried)) < len(found) and (
        job.former or score.killed < needed <= len(found) - len(score.survivors)
    ):
        pair = found[at : at + AT_ONCE]
        noticed = await asyncio.gather(*(_noticed(job, mutant, time, runs) for mutant in pair))
        score = replace(score, tried=(*score.tried, *zip(pair, noticed, strict=True)))
    return score


async def _noticed(job: SuiteJob, mutant: Mutant, time: TimeLimit, runs: SuiteRuns) -> str | None:
    """The first self-written test that fails on a mutant; "" where they do not come to their end, None if all pass."""
    broken = _broken(job, mutant)
    found = await runs.run(broken, plan.first_failure(await runs.plan(broken)), time)
    is_well = found.passed and not found.stopped and len(found.passed) == len(found.tests or ())
    return None if is_well else next((case.id for case in found.tests or () if case.id in found.failed), "")


async def _noticed_before(
    job: SuiteJob, found: Sequence[Mutant], time: TimeLimit, runs: SuiteRuns
) -> tuple[Mutant, ...]:
    """The mutants that the former tests notice: those of them, that is, which pass on the code as it is."""
    former = replace(job, own=job.former, former={}, given={}, command=(), regression=())
    passing = await _passing(former, time, runs)
    if not passing:
        return ()
    noticed = list[Mutant]()
    for start in range(0, len(found), AT_ONCE):
        pair = found[start : start + AT_ONCE]
        still = await asyncio.gather(*(_passing(_broken(former, mutant), time, runs) for mutant in pair))
        noticed += [mutant for mutant, passed in zip(pair, still, strict=True) if passing - passed]
    return tuple(noticed)


async def _passing(job: SuiteJob, time: TimeLimit, runs: SuiteRuns) -> frozenset[str]:
    """The ids of the self-written tests that pass."""
    return (await runs.run(job, plan.tests_alone(await runs.plan(job)), time)).passed


def _broken(job: SuiteJob, mutant: Mutant) -> SuiteJob:
    """The self-written tests on a mutant."""
    return replace(job, change={**job.change, mutant.path: mutant.text}, given={}, command=(), regression=())


def changes_anything(job: SuiteJob) -> bool:
    """Tell whether a job's change makes any file differ from what the tests would see without it."""
    before = _without(job)
    return any(text != before(path) for path, text in job.change.items())


def _without(job: SuiteJob) -> Callable[[str], str | None]:
    """Reads files as they are without the change."""

    def before(path: str) -> str | None:
        if path in job.start:
            return job.start[path]
        return text_of(job.base, path)

    return before


def _blunt(survivors: Sequence[Mutant]) -> str:
    return f"they go on passing when {_stories(survivors)}"


def _stories(survivors: Sequence[Mutant]) -> str:
    return "; when ".join(mutant.story for mutant in survivors)
