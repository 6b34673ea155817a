"""Makes mutants of a change: puts small faults into the functions that it added or altered, for its tests to find.

Each mutant has one fault, in a line that the change wrote. The choice is deterministic, so the same change always gets
the same mutants. They are spread over functions and kinds of faults. Faults that nearly always show come first (another
return value, an arithmetic sign); faults that often cannot be told from the original come last (a text, a boundary that
is never reached). The operators are those of the literature (DeMillo, Lipton & Sayward, "Hints on test data selection",
1978; Offutt et al., "An experimental determination of sufficient mutant operators", 1996), plus one: a wrong value of
the right type, which a test that only checks types lets pass.

Mutants set no label and refuse nothing. A fault that no test notices is only a note, because some mutants are
equivalent to the original. A change that keeps behaviour is measured by the tests of the base; if these notice less
than half, own tests are requested.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from nightshift.core.code.line_changes import list_written_lines
from nightshift.core.code.tree import text_of
from nightshift.core.tasks.findings import Control, Finding, FindingKind
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import SuiteJob, TriedMutant
from nightshift.core.text.encoding import encode
from nightshift.verdict.findings.hollow import describe_hollow
from nightshift.verdict.languages import dialect_of, language_of, plan
from nightshift.verdict.languages.dialect import Fault, Text
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.run import NativeRun
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift.verdict.time_limits import TimeLimit

MOST = 4
"""Mutants tried per change."""
LONGEST_SUITE_S = 30.0
"""Seconds by the clock. Base tests that take longer are not run on mutants."""
MAX_BYTES = 200_000
"""Larger files get no mutants: they are generated, or analysing them takes too long."""

_RARELY_TESTED = frozenset({"main", "__repr__", "__str__", "__hash__"})
AT_ONCE = 2
MOST_STORY = 300
"""Characters of a mutant's description that are kept as evidence."""
SHORTEST_S, LONGEST = 2.0, 5.0
"""Limit of a run on a mutant: at least these seconds of processor time, or this multiple of the unmutated run's time.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A file of the change with one fault.

    `text` is the whole file; `was` and `now` are short excerpts of the faulty code.
    """

    path: str
    line: int
    function: str
    was: str
    now: str
    text: str

    @property
    def story(self) -> str:
        """The fault described for the author of the tests."""
        return f"`{self.was}` in {self.function} ({self.path}:{self.line}) becomes {self.now}"


def mutants(change: Change, before: Callable[[str], str | None], most: int = MOST) -> tuple[Mutant, ...]:
    """Return mutants of a change's Python, JavaScript and Go files, the most telling first.

    Args:
        change: path to new text; removed files have no mutants.
        before: returns a file's text without the change, None if there is none.
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
        """A higher number for faults that are likelier to stay invisible."""
        return self.fault.rank + 2 * (self.function.rpartition(".")[2] in _RARELY_TESTED)

    @property
    def tie_breaker(self) -> str:
        """A hash that orders equally ranked candidates."""
        key = f"{self.path}\0{self.function}\0{self.fault.kind}\0{self.fault.edit.start}\0{self.original}"
        return hashlib.sha256(encode(key)).hexdigest()


def _of_file(path: str, text: str, before: str | None) -> Iterator[_Candidate]:
    language = language_of(path)
    if language is None or len(text) > MAX_BYTES:
        return
    original = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = list_written_lines(before or "", original)
    for name, fault, mutant in dialect_of(language).mutate(path, text, lines):
        yield _Candidate(path=path, function=name, original=original, fault=fault, make=mutant)


def _spread(candidates: list[_Candidate], most: int) -> Iterator[Mutant]:
    """Pick the most telling candidates. A function or kind of fault loses rank each time it was picked.

    Only picked mutants are generated: generating every fault of a long file would take longer than the tests.
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
    """The tried mutants, each with the test that noticed it (as in `TriedMutant.by`; None if no test did)."""

    tried: tuple[tuple[Mutant, str | None], ...]

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        """The mutants that no test noticed."""
        return tuple(mutant for mutant, by in self.tried if by is None)

    @property
    def note(self) -> str:
        """The result as a line of the evidence."""
        if not self.tried:
            return "no mutants: the change holds no function that could be broken"
        stories = "; when ".join(mutant.story for mutant in self.survivors)
        but = f"; no test notices when {stories}" if stories else ""
        return f"{len(self.tried) - len(self.survivors)} of {len(self.tried)} mutants killed{but}"

    def describe(self) -> Iterator[TriedMutant]:
        """Describe each mutant for the evidence."""
        for mutant, by in self.tried:
            what = mutant.story[:MOST_STORY]
            yield TriedMutant(path=mutant.path, line=mutant.line, noticed=by is not None, what=what, by=by or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTests:
    """The assessment of the agent's own tests: findings, notes and the tried mutants."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    mutants: tuple[TriedMutant, ...] = ()


async def prove_own(job: SuiteJob, planned: Plan, native: NativeRun, runs: SuiteRuns) -> OwnTests:
    """Assess passing self-written tests, or the tests of the base for a change that keeps behaviour.

    Own tests must fail without the change, and must check something that the task asked for. If nothing was changed,
    the first condition does not apply.

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
    """Measure how many faults in a behaviour-keeping change the tests of the base notice."""
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
    """Try the mutants, two at a time."""
    change = {path: text for path, text in job.change.items() if path not in planned.dropped}
    broken = await asyncio.to_thread(mutants, change, _without(job))
    cpu_s, idle_s = (max(SHORTEST_S, LONGEST * each) for each in (native.cpu_s, native.wall_s))
    time, score = runs.time(job).at_most(cpu_s, idle_s=idle_s), MutationScore(tried=())
    for start in range(0, len(broken), AT_ONCE):
        pair = broken[start : start + AT_ONCE]
        noticed = await asyncio.gather(*(_notice(job, mutant, time, runs) for mutant in pair))
        score = replace(score, tried=(*score.tried, *zip(pair, noticed, strict=True)))
    return score


async def _notice(job: SuiteJob, mutant: Mutant, time: TimeLimit, runs: SuiteRuns) -> str | None:
    """Return the first test that fails on a mutant; "" if the run does not end normally, None if all tests pass."""
    broken = replace(job, change={**job.change, mutant.path: mutant.text}, given={}, command=())
    run = await runs.run(broken, plan.first_failure(await runs.plan(broken)), time)
    is_well = run.passed and not run.stopped and len(run.passed) == len(run.tests or ())
    return None if is_well else next((case.id for case in run.tests or () if case.id in run.failed), "")


def changes_anything(job: SuiteJob) -> bool:
    """Check whether a job's change makes any file differ from its state without the change."""
    before = _without(job)
    return any(text != before(path) for path, text in job.change.items())


def _without(job: SuiteJob) -> Callable[[str], str | None]:
    """Return a function that reads files as they are without the change."""

    def before(path: str) -> str | None:
        if path in job.start:
            return job.start[path]
        return text_of(job.base, path)

    return before
