"""Makes mutants of a change, to measure whether the tests notice faults in the change.

A mutant is the change with one small fault, in a line that the change wrote. The choice of mutants is deterministic, so
the same change always gets the same mutants. They are spread over functions and kinds of faults. Faults that nearly
always have a visible effect come first (another return value, another arithmetic operator). Faults that often have no
visible effect come last (another text, a boundary that is never reached). The mutation operators are those of the
literature (DeMillo, Lipton & Sayward, "Hints on test data selection", 1978; Offutt et al., "An experimental
determination of sufficient mutant operators", 1996), plus one: a wrong value of the right type, which a test that only
checks types does not notice.

Mutants set no label and refuse nothing. A mutant that no test notices is only a note, because some mutants are
equivalent to the original. If a change should keep the behaviour, the tests of the base are measured instead; if they
notice less than half of the mutants, the agent is asked for tests of its own.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from nightshift.core.code.line_changes import list_written_lines
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import Control, Finding, FindingKind, SuiteJob, TriedMutant
from nightshift.core.text.encoding import encode
from nightshift.verdict.findings.hollow import describe_hollow
from nightshift.verdict.languages import dialect_of, language_of, plan
from nightshift.verdict.languages.dialect import Fault, Text
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.run import NativeRun, text_before
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift.verdict.time_limits import TimeLimit

MOST = 4
"""Maximum number of mutants that are tried for a change."""
LONGEST_SUITE_S = 30.0
"""Clock seconds. If the tests of the base take longer, they are not run on mutants."""
MAX_CHARACTERS = 200_000
"""Maximum characters of a file that gets mutants. Larger files are usually generated, or take too long to analyse."""

_RARELY_TESTED = frozenset({"main", "__repr__", "__str__", "__hash__"})
AT_ONCE = 2
MOST_STORY = 300
"""Maximum number of characters of a mutant's description in the evidence."""
SHORTEST_S, LONGEST = 2.0, 5.0
"""Time limit of a run on a mutant: `SHORTEST_S` seconds, or `LONGEST` times the time of the run without a mutant.

The larger of the two applies.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A file of the change with one fault in it.

    Attributes:
        path: the path of the file.
        line: the line of the fault.
        function: the function that contains the fault.
        was: a short excerpt of the code before the fault was inserted.
        now: the same excerpt with the fault.
        text: the text of the whole file with the fault.
    """

    path: str
    line: int
    function: str
    was: str
    now: str
    text: str

    @property
    def story(self) -> str:
        """A description of the fault, for the author of the tests."""
        return f"`{self.was}` in {self.function} ({self.path}:{self.line}) becomes {self.now}"


def mutants(change: Change, before: Callable[[str], str | None], most: int = MOST) -> tuple[Mutant, ...]:
    """Return mutants of a change's Python, JavaScript and Go files, those with the most visible faults first.

    Args:
        change: path to new text; a removed file has no mutants.
        before: returns the text of a file without the change, None if the file does not exist.
        most: the maximum number of mutants.
    """
    candidates = [c for path, text in sorted(change.items()) if text for c in _of_file(path, text, before(path))]
    return tuple(_spread(candidates, most))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    path: str
    function: str
    original: str
    fault: Fault
    make: Text

    @property
    def rank(self) -> int:
        """Sort key: higher for a fault that is more likely to have no visible effect."""
        return self.fault.rank + 2 * (self.function.rpartition(".")[2] in _RARELY_TESTED)

    @property
    def tie_breaker(self) -> str:
        """A hash that determines the order of candidates with the same rank."""
        key = f"{self.path}\0{self.function}\0{self.fault.kind}\0{self.fault.edit.start}\0{self.original}"
        return hashlib.sha256(encode(key)).hexdigest()


def _of_file(path: str, text: str, before: str | None) -> Iterator[_Candidate]:
    language = language_of(path)
    if language is None or len(text) > MAX_CHARACTERS:
        return
    original = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = list_written_lines(before or "", original)
    for name, fault, mutant in dialect_of(language).mutate(path, text, lines):
        yield _Candidate(path=path, function=name, original=original, fault=fault, make=mutant)


def _spread(candidates: list[_Candidate], most: int) -> Iterator[Mutant]:
    """Pick the candidates with the lowest rank, and generate only these mutants.

    Each pick raises the rank of the other candidates in the same function or with the same kind of fault, which spreads
    the mutants. Generating the mutants of all candidates of a long file would take longer than the tests.
    """
    functions, kinds = Counter[tuple[str, str]](), Counter[str]()
    left = sorted(candidates, key=lambda candidate: candidate.tie_breaker)
    while left and most:
        best = min(left, key=lambda c: c.rank + functions[c.path, c.function] + kinds[c.fault.kind])
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
    """The mutants that were tried, each with the test that noticed it.

    The test is an empty string if the run with the mutant did not finish, and None if no test noticed the mutant.
    """

    tried: tuple[tuple[Mutant, str | None], ...]

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        """The mutants that no test noticed."""
        return tuple(mutant for mutant, by in self.tried if by is None)

    @property
    def note(self) -> str:
        """The result as one line of the evidence."""
        if not self.tried:
            return "no mutants: the change holds no function that could be broken"
        stories = "; when ".join(mutant.story for mutant in self.survivors)
        but = f"; no test notices when {stories}" if stories else ""
        return f"{len(self.tried) - len(self.survivors)} of {len(self.tried)} mutants killed{but}"

    def describe(self) -> Iterator[TriedMutant]:
        """Yield a description of each mutant for the evidence."""
        for mutant, by in self.tried:
            what = mutant.story[:MOST_STORY]
            yield TriedMutant(path=mutant.path, line=mutant.line, noticed=by is not None, what=what, by=by or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTests:
    """The result of assessing the tests: findings, notes, and the mutants that were tried."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    mutants: tuple[TriedMutant, ...] = ()


async def prove_own(job: SuiteJob, planned: Plan, native: NativeRun, runs: SuiteRuns) -> OwnTests:
    """Assess the agent's own tests, which passed with the change.

    Own tests must fail without the change, unless nothing was changed, and must check something that the task asks for.
    If there are no own tests and the task wants the behaviour kept, the tests of the base are assessed instead.

    Raises:
        SandboxError: nothing could be run.
    """
    own = {file.path: file.text for file in planned.files if file.role is Role.OWN}
    if not own or job.own_proven:
        return await _measure_base(job, planned, native, runs) if job.keeps_behaviour and not own else OwnTests()
    where, is_changed = next(iter(own)), changes_anything(job)
    hollow = await asyncio.to_thread(describe_hollow, job, own)
    control = Control.NONE if is_changed else Control.BASE
    findings = [Finding(kind=FindingKind.HOLLOW, where=where, says=hollow, control=control)] if hollow else []
    if not is_changed:
        return OwnTests(
            findings=tuple(findings), notes=("nothing was changed: the self-written tests pass as things are",)
        )
    if not await runs.fails_before(job):
        says = "the self-written tests pass without the change too: they prove nothing"
        findings.insert(0, Finding(kind=FindingKind.GREEN_BEFORE, where=where, says=says, control=Control.BASE))
        return OwnTests(findings=tuple(findings))
    score = await _measure(replace(job, regression=()), planned, native, runs)
    return OwnTests(findings=tuple(findings), notes=(score.note,), mutants=tuple(score.describe()))


async def _measure_base(job: SuiteJob, planned: Plan, native: NativeRun, runs: SuiteRuns) -> OwnTests:
    """Measure how many mutants of a behaviour-keeping change are noticed by the tests of the base."""
    if native.wall_s > LONGEST_SUITE_S or not any(file.role is Role.REGRESSION for file in planned.files):
        return OwnTests()
    score = await _measure(job, planned, native, runs)
    is_weak = len(score.survivors) * 2 > len(score.tried)
    says = f"the tests of the base prove too little: {score.note}"
    findings = (Finding(kind=FindingKind.MUTANTS, where="", says=says),) if is_weak else ()
    return OwnTests(
        findings=findings, notes=(f"by the tests of the base: {score.note}",), mutants=tuple(score.describe())
    )


async def _measure(job: SuiteJob, planned: Plan, native: NativeRun, runs: SuiteRuns) -> MutationScore:
    """Try the mutants of the change, two at a time."""
    change = {path: text for path, text in job.change.items() if path not in planned.dropped}
    broken = await asyncio.to_thread(mutants, change, partial(text_before, job))
    cpu_s, idle_s = (max(SHORTEST_S, LONGEST * each) for each in (native.cpu_s, native.wall_s))
    time, score = runs.time(job).at_most(cpu_s, idle_s=idle_s), MutationScore(tried=())
    for start in range(0, len(broken), AT_ONCE):
        pair = broken[start : start + AT_ONCE]
        noticed = await asyncio.gather(*(_notice(job, mutant, time, runs) for mutant in pair))
        score = replace(score, tried=(*score.tried, *zip(pair, noticed, strict=True)))
    return score


async def _notice(job: SuiteJob, mutant: Mutant, time: TimeLimit, runs: SuiteRuns) -> str | None:
    """Return the first test that fails on a mutant.

    Returns:
        The test's id; "" if the run does not end normally or names no failed test; None if all tests pass.
    """
    broken = replace(job, change={**job.change, mutant.path: mutant.text}, given={}, command=())
    run = await runs.run(broken, plan.first_failure(await runs.plan(broken)), time)
    is_well = run.passed and not run.stopped and len(run.passed) == len(run.tests or ())
    return None if is_well else next((case.id for case in run.tests or () if case.id in run.failed), "")


def changes_anything(job: SuiteJob) -> bool:
    """Check whether a job's change alters any file."""
    return any(text != text_before(job, path) for path, text in job.change.items())
