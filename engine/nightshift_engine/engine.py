"""The engine: from a problem to a finding.

It observes the suite, tries fixes that need no search, asks for a synthesis if there is only a stub, searches, and
chooses. The chosen change is put into the file's own text and run once more as the suite will run it. Variants that
passed but were not chosen are kept, so that the next one is ready if a suite refuses the first. Slow computations run
in a thread, because all workers share the event loop.

The change of a problem may be the answer of an earlier search that a suite has refused. Edits to that answer would
repair the wrong fix. So the engine recognises its earlier answers, and continues from the state in which the earlier
search began.
"""

from __future__ import annotations

import ast
import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from nightshift.core.code.tree import text_of
from nightshift.core.tasks.task import Change, digest
from nightshift_engine import choose, fault_localisation, stubs
from nightshift_engine.edit import Vocabulary, vocabulary
from nightshift_engine.evaluation import (
    Candidate,
    CandidateResult,
    ErrorInfo,
    EvaluationJob,
    EvaluationLimits,
    Evaluator,
    RunStatus,
    SuiteObservation,
    Synthesiser,
    SynthesisJob,
    SynthesisResult,
    limits_for,
    order_of,
)
from nightshift_engine.problem import Finding, OnProgress, Problem, Progress
from nightshift_engine.quick import QuickFix, quick_fixes
from nightshift_engine.search import Search, SearchResult, SearchSpace, Variant
from nightshift_engine.sources import Sources, sources

QUICK_ROUNDS = 4
"""Maximum number of rounds of quick fixes: a quick fix may reveal the next fault of its kind."""
MOST_QUICK = 24
SYNTHESIS_SHARE = 0.6
KEPT = 20
"""Maximum number of passing variants that are kept, in case a suite refuses the chosen variant."""
CONFIRMED_AT_ONCE = 5
LEAST_WALL_S = 10.0


class Engine:
    """Looks for changes that let failing tests pass. Use it from one event loop, for any number of concurrent problems.

    Args:
        evaluator: runs candidates.
        synthesiser: fills stubs; None if there is none.
    """

    def __init__(self, evaluator: Evaluator, synthesiser: Synthesiser | None = None) -> None:
        self._evaluator, self._synthesiser, self._history = evaluator, synthesiser, SearchHistory()

    async def solve(self, problem: Problem, on_progress: OnProgress) -> Finding:
        """Look for a change.

        Args:
            problem: the tree whose tests fail, and the time budget.
            on_progress: called with the progress.

        Raises:
            SandboxError: nothing could be run.
        """
        origin = self._history.origin(problem)
        if origin and not problem.sees_all and (finding := self._history.next_of(origin, problem)):
            return finding
        job = origin.job if origin else problem.job
        bounded = replace(job, wall_s=min(job.wall_s, problem.budget_s))
        state = SearchState(problem=replace(problem, job=job), on_progress=on_progress, job=bounded)
        findings = await self._solve(state)
        self._history.keep(problem, job, findings)
        first = findings[0]
        if origin and first.change is not None:
            return replace(first, change=rebase(first.change, job, problem.job))
        return first

    async def _solve(self, state: SearchState) -> list[Finding]:
        """Return the findings, best first; if nothing was found, one finding that says why not."""
        state.report("running the tests once before the search")
        await self._look(state)
        if state.problem.sees_all or (state.is_fine and state.problem.whole_tests):
            await self._look_at_all(state)
        if state.is_fine:
            return [state.no_finding("all tests pass already")]
        findings = await self._quickly(state) or await self._synthesise(state)
        if findings:
            return findings
        if not state.observation.tests and not state.observation.broken:
            return [state.no_finding("no test could be run")]
        if not state.sources.trees:
            return [state.no_finding("there is no Python file that the engine could change")]
        return await self._search(state)

    async def _look(self, state: SearchState) -> None:
        """Observe the tests as they are, and read the files that they run."""
        state.observation = await self._evaluator.observe(state.job)
        state.sources = sources(state.job, state.observation)

    async def _look_at_all(self, state: SearchState) -> None:
        """Continue with the tests and their held-out cases.

        From then on, these cases are no independent evidence for the change.
        """
        state.report("running the tests with their held-out cases, which can then no longer confirm the change")
        state.saw_held_out = True
        state.job = replace(state.job, tests=state.problem.whole_tests)
        await self._look(state)

    # The next two methods apply quick fixes, which need no search.

    async def _quickly(self, state: SearchState) -> list[Finding]:
        """Apply fixes that need no search, one after the other; return findings as soon as the tests pass.

        Otherwise the state keeps the fixes if they helped, and is reset if they only changed the error.
        """
        start = state.job, state.observation, state.sources
        for _ in range(QUICK_ROUNDS):
            best = await self._best_fix(state, await asyncio.to_thread(_fixes, state))
            if best is None:
                break
            state.fixes.append(best)
            state.job = replace(state.job, change={**state.job.change, best.path: best.text})
            await self._look(state)
            if state.is_fine:
                return [state.finding(state.quickly_fixed, "quick", "; ".join(fix.note for fix in state.fixes))]
        if not _is_better(start[1], state.observation):
            state.job, state.observation, state.sources = start
            state.fixes.clear()
        return []

    async def _best_fix(self, state: SearchState, fixes: Sequence[QuickFix]) -> QuickFix | None:
        """Return the fix with which all or most tests pass.

        If no fix improves the tests, return the first one that gets past the present errors, or None.
        """
        if not fixes:
            return None
        candidates = [Candidate(path=fix.path, scope="", text=fix.text) for fix in fixes]
        limits = replace(limits_for(state.observation), is_uninstrumented=True)
        outcomes = await self._evaluator.evaluate(state.job, candidates, order_of(state.observation), limits)
        state.tried += len(fixes)
        pairs = sorted(
            zip(fixes, outcomes, strict=True), key=lambda p: (p[1].how is not RunStatus.PASSED, -p[1].passed)
        )
        best, outcome = pairs[0]
        if outcome.how is RunStatus.PASSED or outcome.passed:
            return best
        messages = {error.message for _, error in errors(state.observation)}
        return next((fix for fix, out in zip(fixes, outcomes, strict=True) if _gets_further(out, messages)), None)

    # The next two methods find bodies of stubs from examples.

    async def _synthesise(self, state: SearchState) -> list[Finding]:
        """Find bodies for the stubs that failing tests run, one stub after the other."""
        job, changes, notes = state.job, list[Change](), list[str]()
        for stub in stubs.find(state.sources.trees, state.observation) if self._synthesiser else ():
            result = await self._bodies(state, job, stub)
            if not result.texts:
                return []
            now = sources(job, state.observation)
            bodies = [now.render(stub.path, stubs.fill(now.trees[stub.path], stub, body)) for body in result.texts]
            changes = [{**job.change, stub.path: body} for body in bodies]
            job = replace(job, change=changes[0])
            notes.append(
                f"writes `{stub.scope}` by {result.examples} examples, found among {result.tried:,} expressions"
            )
        warning = "a body found by examples may fit these alone"
        fine = await self._confirm(state, changes)
        return [state.finding(change, "synthesis", "; ".join(notes), warning) for change in fine]

    async def _bodies(self, state: SearchState, job: EvaluationJob, stub: stubs.StubPlace) -> SynthesisResult:
        assert self._synthesiser is not None
        words = vocabulary(state.sources.texts[stub.path], list(job.tests.values()), [state.problem.description])
        state.report(f"searching for an expression as the body of the stub `{stub.scope}`")
        result = await self._synthesiser.synthesise(
            SynthesisJob(
                job=job, path=stub.path, scope=stub.scope, names=words.names[:20], constants=words.constants[:20],
                budget_s=max(1.0, SYNTHESIS_SHARE * state.left_s),
            )
        )  # fmt: skip
        state.tried += result.tried
        state.report(f"tried {result.tried:,} expressions for {result.examples} examples: {result.why or 'some fit'}")
        return result

    # The methods below search among edits, and run what was found once more.

    async def _search(self, state: SearchState) -> list[Finding]:
        words = await asyncio.to_thread(_words, state)
        context = SearchSpace(job=state.job, trees=state.sources.trees, observation=state.observation, words=words)
        result = await Search(self._evaluator, context, state.deadline, state.pass_on, state.accepts).run()
        state.tried, state.estimated = state.tried + result.tried, state.estimated + result.estimated
        if not result.passing:
            return [state.no_finding(why_not(result, state.problem.budget_s))]
        return await self._answers(state, result)

    async def _answers(self, state: SearchState, result: SearchResult) -> list[Finding]:
        """Return the findings that still pass in a run like that of the suite, in the order of choice."""
        limits = limits_for(state.observation)
        choice = await choose.choose(
            self._evaluator, state.job, state.observation, state.sources.trees, result.passing, limits
        )
        some = choice.ranked[:KEPT]
        changes = await asyncio.to_thread(lambda: [state.render(variant) for variant in some])
        variants = {id(change): variant for change, variant in zip(changes, some, strict=True)}
        fine = await self._confirm(state, changes)
        if not fine:
            return [
                state.no_finding(f"{len(some)} changes passed during the search, but none passes after a fresh import")
            ]
        chosen = [(change, variants[id(change)]) for change in fine]
        return await asyncio.to_thread(
            lambda: [
                state.finding(change, variant.kind, of_variant(variant), choice.warning) for change, variant in chosen
            ]
        )

    async def _confirm(self, state: SearchState, changes: Sequence[Change]) -> list[Change]:
        """Return the changes that pass all tests without instrumentation.

        Changes are run in batches. After the first batch with a change that passes, the remaining changes are returned
        unchecked.
        """
        order = [
            test.id for test in (*state.observation.failing, *(test for test in state.observation.tests if test.passed))
        ]
        wall_s = max(LEAST_WALL_S, state.job.wall_s / 4)
        limits = replace(limits_for(state.observation), is_uninstrumented=True, wall_s=wall_s)
        for start in range(0, len(changes), CONFIRMED_AT_ONCE):
            some = [
                change for change in changes[start : start + CONFIRMED_AT_ONCE] if not state.problem.refuses(change)
            ]
            outcomes = [await self._afresh(state, change, order, limits) for change in some]
            fine = [change for change, out in zip(some, outcomes, strict=True) if out.how is RunStatus.PASSED]
            if fine:
                return [*fine, *changes[start + CONFIRMED_AT_ONCE :]]
        return []

    async def _afresh(
        self, state: SearchState, change: Change, order: Sequence[str], limits: EvaluationLimits
    ) -> CandidateResult:
        """Run a whole change: its last file is the candidate, and its other files become part of the tree."""
        *others, (path, text) = change.items()
        job = replace(state.job, change={**state.job.change, **dict(others)})
        candidate = Candidate(path=path, scope="", text=text or "")
        return (await self._evaluator.evaluate(job, [candidate], order, limits))[0]


def _is_better(before: SuiteObservation, now: SuiteObservation) -> bool:
    """Check whether more tests pass than before; true in any case if some file could not be imported before."""
    return bool(before.broken) or sum(t.passed for t in now.tests) > sum(t.passed for t in before.tests)


def _gets_further(outcome: CandidateResult, messages: set[str]) -> bool:
    """Check whether a candidate failed with an error that is not among the present errors."""
    return bool(outcome.error) and not any(message and message in outcome.error for message in messages)


def _fixes(state: SearchState) -> list[QuickFix]:
    """List the fixes that need no search and that no suite has refused."""
    programs = state.sources.programs
    fixes = islice(quick_fixes(state.sources.texts, errors(state.observation)), MOST_QUICK)
    file_fixes = (replace(fix, text=programs[fix.path].file_text(fix.text)) for fix in fixes)
    return [fix for fix in file_fixes if not state.problem.refuses({fix.path: fix.text})]


def _words(state: SearchState) -> dict[str, Vocabulary]:
    """Return the vocabulary for the edits of each file."""
    tests, prose = list(state.job.tests.values()), [state.problem.description]
    return {path: vocabulary(text, tests, prose) for path, text in state.sources.texts.items()}


# The class below holds the state of a search.


@dataclass(slots=True, kw_only=True)
class SearchState:
    """The state of one search.

    `job` includes the quick fixes that were applied; `fixes` lists them. `deadline` is a time of `time.monotonic()`.
    """

    problem: Problem
    on_progress: OnProgress
    job: EvaluationJob
    began: float = field(default_factory=time.monotonic)
    sources: Sources = field(default_factory=Sources)
    observation: SuiteObservation = field(default_factory=SuiteObservation)
    fixes: list[QuickFix] = field(default_factory=list)
    tried: int = 0
    estimated: int = 0
    saw_held_out: bool = False

    @property
    def deadline(self) -> float:
        """Time at which the search must end, by `time.monotonic()`."""
        return self.began + self.problem.budget_s

    @property
    def left_s(self) -> float:
        """Seconds that are left."""
        return self.deadline - time.monotonic()

    @property
    def is_fine(self) -> bool:
        """True if tests ran, none failed and no file was broken."""
        return bool(self.observation.tests) and not self.observation.failing and not self.observation.broken

    def report(self, text: str) -> None:
        """Report one line of progress."""
        self.on_progress(Progress(tried=self.tried, estimated=self.estimated, text=text))

    def pass_on(self, progress: Progress) -> None:
        """Report the progress of the candidate search; its count includes the candidates tried before the search."""
        self.on_progress(replace(progress, tried=progress.tried + self.tried))

    @property
    def quickly_fixed(self) -> Change:
        """The present text of each file that the quick fixes changed, by path."""
        return {fix.path: self.job.change[fix.path] for fix in self.fixes}

    def render(self, variant: Variant) -> Change:
        """Return the texts of the files that a variant and the quick fixes change."""
        return {**self.quickly_fixed, variant.path: self.sources.render(variant.path, variant.tree)}

    def accepts(self, variant: Variant) -> bool:
        """Check that no suite has refused a variant."""
        return not self.problem.excluded or not self.problem.refuses(self.render(variant))

    def finding(self, change: Change, kind: str, description: str, warning: str = "") -> Finding:
        """Return the finding for a change that passes."""
        return replace(
            self.no_finding(""), change=change, kind=kind, description=description, warning=warning,
            plan=plan(self.sources.trees, self.observation, description), reflection=describe_refusal(self.problem),
        )  # fmt: skip

    def no_finding(self, why: str) -> Finding:
        """Return a finding without a change, with the reason."""
        return Finding(
            plan=plan(self.sources.trees, self.observation, ""),
            reflection=describe_refusal(self.problem) or why,
            tried=self.tried,
            estimated=max(self.estimated, self.tried),
            seconds=time.monotonic() - self.began,
            why_not=why,
            saw_held_out=self.saw_held_out,
        )


# The classes below remember earlier searches, because a refused finding may be followed by the next one.


REMEMBERED = 64


@dataclass(slots=True)
class EarlierSearch:
    """The job that a search began with, and the search's findings that are not yet used as answers."""

    job: EvaluationJob
    left: list[Finding]


class SearchHistory:
    """The latest searches, by task and change."""

    def __init__(self) -> None:
        self._origins: OrderedDict[tuple[int, str], EarlierSearch] = OrderedDict()

    def origin(self, problem: Problem) -> EarlierSearch | None:
        """Return the search that began with the problem's change or found it; None if there is none."""
        if problem.task_id is None:
            return None
        return self._origins.get((problem.task_id, digest(problem.job.change)))

    def keep(self, problem: Problem, job: EvaluationJob, findings: Sequence[Finding]) -> None:
        """Remember the findings of a search that began with `job`; the first finding is the answer."""
        if problem.task_id is None or findings[0].change is None:
            return
        origin = EarlierSearch(job, list(findings[1:]))
        self._origins[problem.task_id, digest(job.change)] = origin
        for finding in findings:
            self._origins[problem.task_id, digest({**job.change, **(finding.change or {})})] = origin
        while len(self._origins) > REMEMBERED:
            self._origins.popitem(last=False)

    def next_of(self, origin: EarlierSearch, problem: Problem) -> Finding | None:
        """Return the next finding that no suite has refused, rebased on the problem's change; None if none is left."""
        while origin.left:
            finding = origin.left.pop(0)
            origin_problem = replace(problem, job=origin.job)
            if finding.change is not None and not origin_problem.refuses(finding.change):
                return replace(finding, change=rebase(finding.change, origin.job, problem.job), seconds=0.0)
        return None


def rebase(change: Change, origin: EvaluationJob, now: EvaluationJob) -> Change:
    """Turn a change on top of `origin` into a change on top of `now`.

    Where the two jobs differ in a file, the result restores the text of `origin`, unless `change` replaces that file.
    """
    back = dict[str, str | None]()
    for path in origin.change.keys() | now.change.keys():
        if path in origin.change:
            back[path] = origin.change[path]
        else:
            back[path] = text_of(origin.base, path)
    differs = {path: text for path, text in back.items() if now.change.get(path, "\0") != text}
    return {**differs, **change}


# The functions below write texts that describe the engine's work.


MOST_PLACES = 6


def errors(observation: SuiteObservation) -> list[tuple[str, ErrorInfo]]:
    """List the errors of files and failing tests, files first, each kind of error once."""
    pairs = [*observation.broken.items(), *((test.id, test.error) for test in observation.failing if test.error)]
    distinct = {(error.kind, error.message, error.frames[-1:]): (where, error) for where, error in pairs}
    return list(distinct.values())


def plan(trees: Mapping[str, ast.Module], observation: SuiteObservation, description: str) -> str:
    """Write a numbered plan: the observation, the suspected lines, and the change or the next step."""
    lines = [f"1. {_describe(observation)}"]
    ranked = [
        (score, f"`{suspect.path}:{line}`" + (f" in `{suspect.scope.name}`" if suspect.scope.name else ""))
        for suspect in fault_localisation.suspects(trees, observation)[:MOST_PLACES]
        for line, score in sorted(suspect.lines.items(), key=lambda pair: -pair[1])[:MOST_PLACES]
    ]
    ranked.sort(key=lambda pair: -pair[0])
    if ranked:
        places = ", ".join(f"{where} ({score:.2f})" for score, where in ranked[:MOST_PLACES])
        lines.append(f"2. Suspected lines by Ochiai's coefficient: {places}.")
    step = f"Change: {description}." if description else "Try edits there, the likeliest first."
    lines.append(f"{len(lines) + 1}. {step}")
    return "\n".join(lines)


def _describe(observation: SuiteObservation) -> str:
    if observation.broken:
        path, error = next(iter(observation.broken.items()))
        return f"`{path}` cannot be imported: {error.kind}: {_line(error.message)}"
    kinds = sorted({test.error.kind for test in observation.failing if test.error})
    with_what = f", with {', '.join(kinds[:4])}" if kinds else ""
    return f"{len(observation.failing)} of {len(observation.tests)} tests fail{with_what}."


def of_variant(variant: Variant) -> str:
    """Describe the change of a variant, in one line."""
    where = f" in `{variant.scope}`" if variant.scope else f" in `{variant.path}`"
    notes = [f"{edit.note or edit.kind} (line {edit.line})" for edit in variant.edits]
    return "; ".join(notes) + where


def describe_refusal(problem: Problem) -> str:
    """Say that a suite refused earlier changes; empty if none was refused."""
    count = len(problem.excluded)
    if not count:
        return ""
    changes = "1 change is" if count == 1 else f"{count} changes are"
    return f"{changes} excluded, having passed the shown tests and failed the whole suite"


def why_not(result: SearchResult, budget_s: float) -> str:
    """Return why a search found nothing."""
    tried = f"{result.tried:,} candidates"
    if not result.tried:
        return "the engine has no edit for the lines that the failing tests run"
    best = f"; the best candidate passes {result.best} of the tests" if result.best else ""
    if result.exhausted:
        return f"the engine tried all {tried} with one or two edits, and none passes{best}"
    return f"the engine tried {tried} within {budget_s:g} s, and none passes{best}"


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
