"""The engine: from a problem to a finding.

It looks at the suite, tries mends that need no search, asks for a synthesis where there is only a stub, searches, and
chooses. What it chose is put into the file's own text and run once more as the suite will run it. Variants that passed
and were not chosen are kept: when a suite refuses the first, the next is there without a new search. What takes longer
than a moment is thought in a thread: the loop belongs to all workers.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from core.tasks import Change
from repair import choose, stubs, telling
from repair.evaluation import (
    Candidate,
    How,
    Outcome,
    Patience,
    Sight,
    Synthesised,
    Synthesiser,
    SynthesisJob,
    TrialJob,
    Trials,
)
from repair.files import sources
from repair.ground import Vocabulary
from repair.memory import Memory, rebased
from repair.patience import order_of, patience_for
from repair.problem import Finding, Problem, Tell
from repair.quick import Mend, quick_mends
from repair.rendering import render
from repair.search import Field, Found, Search
from repair.state import State
from repair.vocabulary import vocabulary

QUICK_ROUNDS = 4
"""A mend without search may lay bare the next fault of its kind."""
MOST_QUICK = 24
SYNTHESIS_SHARE = 0.6
KEPT = 20
"""So many variants that passed are kept for the case that a suite refuses the one before."""
CONFIRMED_AT_ONCE = 5
LEAST_WALL_S = 10.0


class Engine:
    """Looks for changes that let failing tests pass. Used from one event loop, for any number of problems at once.

    Args:
        trials: runs candidates.
        synthesiser: fills stubs; None where there is none.
    """

    def __init__(self, trials: Trials, synthesiser: Synthesiser | None = None) -> None:
        self._trials, self._synthesiser, self._memory = trials, synthesiser, Memory()

    async def solve(self, problem: Problem, tell: Tell) -> Finding:
        """Look for a change.

        Args:
            problem: what is wrong, and how long to look.
            tell: takes progress.

        Raises:
            SandboxError: nothing could be run.
        """
        origin = self._memory.origin(problem)
        if origin and not problem.sees_all and (known := self._memory.next_of(origin, problem)):
            return known
        job = origin.job if origin else problem.job
        hasty = replace(job, wall_s=min(job.wall_s, problem.budget_s))
        state = State(problem=replace(problem, job=job), tell=tell, job=hasty)
        findings = await self._solved(state)
        self._memory.keep(problem, job, findings)
        first = findings[0]
        if origin and first.change is not None:
            return replace(first, change=rebased(first.change, job, problem.job))
        return first

    async def _solved(self, state: State) -> list[Finding]:
        """What was found, best first; one finding that says why not, where nothing was."""
        state.say("looking at the tests as they are")
        await self._look(state)
        if state.problem.sees_all or (state.is_fine and state.problem.whole_tests):
            await self._look_at_all(state)
        if state.is_fine:
            return [state.nothing("all tests pass already")]
        found = await self._quickly(state) or await self._synthesised(state)
        if found:
            return found
        if not state.sight.tests and not state.sight.broken:
            return [state.nothing("no test could be run")]
        if not state.sources.trees:
            return [state.nothing("there is no file of Python to change")]
        return await self._searched(state)

    async def _look(self, state: State) -> None:
        """See what the tests do now, and which files that concerns."""
        state.sight = await self._trials.observe(state.job)
        state.sources = sources(state.job, state.sight)

    async def _look_at_all(self, state: State) -> None:
        """Go on with the whole tests: what is held out of them is no secret any more."""
        state.say("looking at the whole tests, which cannot witness for the change then")
        state.saw_held_out = True
        state.job = replace(state.job, tests=state.problem.whole_tests)
        await self._look(state)

    # Without search.

    async def _quickly(self, state: State) -> list[Finding]:
        """Mends that need no search, one after the other; findings when the tests pass.

        Else the state goes on from them if they helped, and from where it was if they only changed the trouble.
        """
        start = state.job, state.sight, state.sources
        for _ in range(QUICK_ROUNDS):
            best = await self._best_mend(state, await asyncio.to_thread(_mends, state))
            if best is None:
                break
            state.mends.append(best)
            state.job = replace(state.job, change={**state.job.change, best.path: best.text})
            await self._look(state)
            if state.is_fine:
                change = {mend.path: state.sources.texts[mend.path] for mend in state.mends}
                return [state.finding(change, "quick", "; ".join(mend.note for mend in state.mends))]
        if not _is_better(start[1], state.sight):
            state.job, state.sight, state.sources = start
            state.mends.clear()
        return []

    async def _best_mend(self, state: State, mends: Sequence[Mend]) -> Mend | None:
        """The first that lets everything pass; else one that gets beyond the trouble there is."""
        if not mends:
            return None
        candidates = [Candidate(path=mend.path, scope="", text=mend.text) for mend in mends]
        patience = replace(patience_for(state.sight), plain=True)
        outcomes = await self._trials.attempt(state.job, candidates, order_of(state.sight), patience)
        state.tried += len(mends)
        pairs = sorted(zip(mends, outcomes, strict=True), key=lambda p: (p[1].how is not How.PASSED, -p[1].passed))
        best, outcome = pairs[0]
        if outcome.how is How.PASSED or outcome.passed:
            return best
        known = {trouble.message for _, trouble in telling.troubles(state.sight)}
        return next((mend for mend, out in zip(mends, outcomes, strict=True) if _gets_further(out, known)), None)

    # From examples.

    async def _synthesised(self, state: State) -> list[Finding]:
        """Bodies for the stubs that failing tests run, one stub after the other."""
        job, changes, told = state.job, list[Change](), list[str]()
        for stub in stubs.find(state.sources.trees, state.sight) if self._synthesiser else ():
            made = await self._bodies(state, job, stub)
            if not made.texts:
                return []
            text = sources(job, state.sight).texts[stub.path]
            bodies = [render(text, stubs.filled(ast.parse(text), stub, body)) for body in made.texts]
            changes = [{**job.change, stub.path: body} for body in bodies]
            job = replace(job, change=changes[0])
            told.append(f"writes `{stub.scope}` by {made.examples} examples, found among {made.tried:,} expressions")
        warning = "a body found by examples may fit these alone"
        fine = await self._confirmed(state, changes)
        return [state.finding(change, "synthesis", "; ".join(told), warning) for change in fine]

    async def _bodies(self, state: State, job: TrialJob, stub: stubs.StubPlace) -> Synthesised:
        assert self._synthesiser is not None
        words = vocabulary(state.sources.texts[stub.path], list(job.tests.values()), [state.problem.description])
        state.say(f"`{stub.scope}` is a stub: looking for a body among expressions")
        made = await self._synthesiser.synthesise(
            SynthesisJob(
                job=job, path=stub.path, scope=stub.scope, names=words.names[:20], constants=words.constants[:20],
                budget_s=max(1.0, SYNTHESIS_SHARE * state.left_s),
            )
        )  # fmt: skip
        state.tried += made.tried
        state.say(f"{made.tried:,} expressions for {made.examples} examples: {made.why or 'some fit'}")
        return made

    # By search.

    async def _searched(self, state: State) -> list[Finding]:
        words = await asyncio.to_thread(_words, state)
        ground = Field(job=state.job, trees=state.sources.trees, sight=state.sight, words=words)
        found = await Search(self._trials, ground, state.deadline, state.hear, state.accepts).run()
        state.tried, state.estimated = state.tried + found.tried, state.estimated + found.estimated
        if not found.passing:
            return [state.nothing(telling.why_not(found, state.problem.budget_s))]
        return await self._answers(state, found)

    async def _answers(self, state: State, found: Found) -> list[Finding]:
        """The findings that hold when they are run as the suite will run them, in the order of choice."""
        patience = patience_for(state.sight)
        choice = await choose.choose(self._trials, state.job, state.sight, state.sources.trees, found.passing, patience)
        some = choice.ranked[:KEPT]
        changes = await asyncio.to_thread(lambda: [state.rendered(variant) for variant in some])
        made = {id(change): variant for change, variant in zip(changes, some, strict=True)}
        fine = await self._confirmed(state, changes)
        if not fine:
            return [
                state.nothing(f"{len(some)} changes passed in the search, and none does when it is imported afresh")
            ]
        chosen = [(change, made[id(change)]) for change in fine]
        return await asyncio.to_thread(
            lambda: [state.finding(change, one.kind, telling.of_variant(one), choice.warning) for change, one in chosen]
        )

    async def _confirmed(self, state: State, changes: Sequence[Change]) -> list[Change]:
        """Those that pass all tests without any instrument; what comes after the first that do is taken as it is."""
        order = [test.id for test in (*state.sight.failing, *(test for test in state.sight.tests if test.passed))]
        wall_s = max(LEAST_WALL_S, state.job.wall_s / 4)
        patience = replace(patience_for(state.sight), plain=True, wall_s=wall_s)
        for start in range(0, len(changes), CONFIRMED_AT_ONCE):
            some = [one for one in changes[start : start + CONFIRMED_AT_ONCE] if not state.problem.refuses(one)]
            outcomes = [await self._afresh(state, change, order, patience) for change in some]
            fine = [change for change, out in zip(some, outcomes, strict=True) if out.how is How.PASSED]
            if fine:
                return [*fine, *changes[start + CONFIRMED_AT_ONCE :]]
        return []

    async def _afresh(self, state: State, change: Change, order: Sequence[str], patience: Patience) -> Outcome:
        """Run a whole change: all its files but the last as part of the tree, that one as the candidate."""
        *others, (path, text) = change.items()
        job = replace(state.job, change={**state.job.change, **dict(others)})
        candidate = Candidate(path=path, scope="", text=text or "")
        return (await self._trials.attempt(job, [candidate], order, patience))[0]


def _is_better(before: Sight, now: Sight) -> bool:
    """Tell whether more tests pass than before, or there were files that could not be imported."""
    return bool(before.broken) or sum(t.passed for t in now.tests) > sum(t.passed for t in before.tests)


def _gets_further(outcome: Outcome, known: set[str]) -> bool:
    """Tell whether a try ended with another trouble than there was."""
    return bool(outcome.trouble) and not any(message and message in outcome.trouble for message in known)


def _mends(state: State) -> list[Mend]:
    """Mends that need no search and that no suite has refused."""
    made = islice(quick_mends(state.sources.texts, telling.troubles(state.sight)), MOST_QUICK)
    return [mend for mend in made if not state.problem.refuses({mend.path: mend.text})]


def _words(state: State) -> dict[str, Vocabulary]:
    """What edits of each file may use."""
    tests, told = list(state.job.tests.values()), [state.problem.description]
    return {path: vocabulary(text, tests, told) for path, text in state.sources.texts.items()}
