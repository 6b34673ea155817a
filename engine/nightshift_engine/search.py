"""The search for variants that pass: the likeliest first, in batches, then second edits to partial fixes.

A variant is a file with edits applied to its tree. A variant whose text was seen before is not tried again.

While a batch runs in the sandbox, a thread makes the texts of the next batch. The first variant that passes does not
end the search: variants that are nearly as likely are tried too, so that there is a choice.

Faults in two places, and fixes that take two edits, are found by growing variants, which means adding a second edit. A
partial fix is a variant that lets some failing test pass. The suite is observed with the partial fix, as it was with
the original, to find the suspected lines. Then edits to the partial fix are tried, ordered by the likelihood of both
edits. When no partial fix is left, the likeliest single edits are grown although they let no test pass.
"""

from __future__ import annotations

import ast
import asyncio
import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nightshift_engine import fault_localisation
from nightshift_engine.edit import Edit, EditContext, EditOperator, Vocabulary
from nightshift_engine.edits import EXPRESSION_EDITS, STATEMENT_EDITS
from nightshift_engine.evaluation import (
    Candidate,
    CandidateResult,
    EvaluationJob,
    EvaluationLimits,
    Evaluator,
    RunStatus,
    SuiteObservation,
    limits_for,
    order_of,
)
from nightshift_engine.fault_localisation import Suspect
from nightshift_engine.problem import OnProgress, Progress
from nightshift_engine.tree import at

FIRST_BATCH, MOST_BATCH = 64, 600
BATCH_S = 1.2
"""Seconds that a batch should run: long enough to make the start of a sandbox negligible, short enough to show
progress.
"""
AFTER_SHARE, AFTER_S, AFTER_TRIED = 0.34, 4.0, 400
"""Bounds of the search after the first variant that passes: the least likelihood relative to that variant, the number
of seconds, and the number of variants.
"""
LOOKED_AT, GROWN, GROWN_AT_ONCE, GROW_EVERY = 100, 12, 3, 400
"""Numbers for growing partial fixes by a second edit: possible partial fixes that are run again on all tests, partial
fixes that are kept, partial fixes that are grown at a time, and candidates between two rounds.
"""
GROWTH = 0.3
"""Likelihood of a partial fix that lets all failing tests pass, relative to a first edit of weight 1. A partial fix
that lets a third of the failing tests pass gets a third of this likelihood.
"""
BLIND, BLIND_AT_ONCE = 80, 8
"""Number of single edits that get a second edit when no partial fix is left, and how many of them get it in one round.
"""
REPORT_S = 2.0
RETRIED, SLOW_STEPS, SLOW_S = 72, 20, 4.0
"""The last resort, when all other variants have failed: how many of the variants that ran out of steps or time are
retried, and by what factors their limits on steps and time are raised.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """The search space: the job, its trees, the observation of its tests, and the vocabulary of each file."""

    job: EvaluationJob
    trees: Mapping[str, ast.Module]
    observation: SuiteObservation
    words: Mapping[str, Vocabulary]


@dataclass(slots=True, kw_only=True)
class SearchResult:
    """The result of a search; the likeliest variants come first in `passing`."""

    passing: list[Variant] = field(default_factory=list)
    tried: int = 0
    estimated: int = 0
    best: int = 0
    exhausted: bool = False


class Search:
    """One search.

    Args:
        evaluator: runs the candidates.
        space: the search space.
        deadline: the value of `time.monotonic()` at which the search must end.
        on_progress: called with the progress.
        accepts: checks whether a variant may be an answer at all.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        space: SearchSpace,
        deadline: float,
        on_progress: OnProgress,
        accepts: Callable[[Variant], bool] = lambda _variant: True,
    ) -> None:
        self._evaluator, self._space, self._deadline = evaluator, space, deadline
        self._on_progress, self._accepts = on_progress, accepts
        self._seen_texts, self._result = SeenTexts(), SearchResult()
        self._order = order_of(space.observation)
        self._limits = limits_for(space.observation)
        self._maybe_partial: list[tuple[int, Variant]] = []
        self._slow: list[Variant] = []
        self._likely: list[Variant] = []
        self._partial_fixes: list[tuple[float, Variant]] = []
        self._candidates = CandidateQueue()
        self._size, self._grow_at = FIRST_BATCH, GROW_EVERY
        self._reported = time.monotonic()
        self._first_pass: tuple[float, float, int] | None = None

    async def run(self) -> SearchResult:
        """Search until there are enough passing variants, everything was tried, or the time is over."""
        suspects = await asyncio.to_thread(fault_localisation.suspects, self._space.trees, self._space.observation)
        self._candidates.add(
            await asyncio.to_thread(self._stream, self._space.trees, suspects, self._space.observation)
        )
        await self._try_all()
        for step in (self._retry_slow, self._grow_partial_fixes, lambda: self._grow_blindly(suspects)):
            if not self._is_over():
                await step()
        result = self._result
        result.exhausted = not result.passing and time.monotonic() < self._deadline
        result.passing.sort(key=lambda variant: -variant.likelihood)
        return result

    def _stream(
        self,
        trees: Mapping[str, ast.Module],
        suspects: Sequence[fault_localisation.Suspect],
        observation: SuiteObservation,
        before: Variant | None = None,
    ) -> CandidateStream:
        stream = CandidateStream(
            trees, suspects, observation, self._space.words, self._seen_texts,
            before=before.edits if before else (), likelihood=before.likelihood if before else 1.0,
        )  # fmt: skip
        self._result.estimated += stream.size
        return stream

    def _is_over(self) -> bool:
        if time.monotonic() >= self._deadline:
            return True
        return bool(self._result.passing)

    def _has_enough(self, likelihood: float) -> bool:
        """Check whether the search should stop before a variant of this likelihood."""
        now = time.monotonic()
        if now >= self._deadline or likelihood <= 0:
            return True
        if self._first_pass is None:
            return False
        at, won, tried = self._first_pass
        return likelihood < won * AFTER_SHARE or now - at > AFTER_S or self._result.tried - tried > AFTER_TRIED

    async def _try_all(self) -> None:
        """Try the candidates, the likeliest first, until there are enough; grow partial fixes in between."""
        batch = await asyncio.to_thread(self._candidates.take, self._size)
        while batch and not self._has_enough(batch[0].likelihood):
            ahead = asyncio.create_task(asyncio.to_thread(self._candidates.take, self._size))
            try:
                await self._try(batch, self._limits)
            finally:
                batch = await ahead
            if self._maybe_partial and self._result.tried >= self._grow_at and not self._is_over():
                await self._grow()

    async def _try(self, batch: Sequence[Variant], limits: EvaluationLimits) -> None:
        """Run a batch and note the result of each variant."""
        began = time.monotonic()
        left_s = max(1.0, self._deadline - began)
        wall_s = min(limits.wall_s, left_s)
        candidates = [variant.candidate for variant in batch]
        outcomes = await self._evaluator.evaluate(
            self._space.job, candidates, self._order, replace(limits, wall_s=wall_s)
        )
        took = max(0.01, time.monotonic() - began)
        self._size = int(min(MOST_BATCH, 2 * self._size, max(16, len(batch) * BATCH_S / took)))
        self._result.tried += len(batch)
        for variant, outcome in zip(batch, outcomes, strict=True):
            self._note(variant, outcome)
        self._report_progress()

    def _note(self, variant: Variant, outcome: CandidateResult) -> None:
        result = self._result
        if outcome.how is RunStatus.PASSED:
            if self._accepts(variant):
                result.passing.append(variant)
                self._first_pass = self._first_pass or (time.monotonic(), variant.likelihood, result.tried)
            result.best = len(self._order)
            return
        result.best = max(result.best, outcome.passed)
        if outcome.passed and len(variant.edits) == 1:
            self._maybe_partial.append((outcome.passed, variant))
        if outcome.how in {RunStatus.STEPS, RunStatus.TIMEOUT}:
            self._slow.append(variant)
        elif outcome.how is not RunStatus.INVALID and len(self._likely) < BLIND and len(variant.edits) == 1:
            self._likely.append(variant)

    async def _grow_partial_fixes(self) -> None:
        """Grow partial fixes until none is left."""
        while (self._maybe_partial or self._partial_fixes) and not self._is_over():
            await self._grow()
            await self._try_all()

    async def _grow(self) -> None:
        """Grow the best partial fixes by a second edit, and add the resulting variants to the candidates."""
        await self._rank_partial_fixes()
        for share, variant in self._partial_fixes[:GROWN_AT_ONCE]:
            if time.monotonic() < self._deadline:
                self._candidates.add(await self._grow_from(replace(variant, likelihood=GROWTH * share)))
        del self._partial_fixes[:GROWN_AT_ONCE]
        self._grow_at = self._result.tried + GROW_EVERY

    async def _rank_partial_fixes(self) -> None:
        """Run possible partial fixes on all tests and keep those that pass more tests than the original, best first."""
        ranked = sorted(self._maybe_partial, key=lambda entry: (-entry[0], -entry[1].likelihood))[:LOOKED_AT]
        self._maybe_partial, variants = [], [variant for _, variant in ranked]
        limits = replace(self._limits, max_failures=len(self._order))
        candidates = [variant.candidate for variant in variants]
        outcomes = (
            await self._evaluator.evaluate(self._space.job, candidates, self._order, limits) if candidates else ()
        )
        failing = len(self._space.observation.failing)
        before = len(self._order) - failing
        shares = [((outcome.passed - before) / max(1, failing)) for outcome in outcomes]
        self._partial_fixes += [(share, variant) for share, variant in zip(shares, variants, strict=True) if share > 0]
        self._partial_fixes.sort(key=lambda entry: (-entry[0], -entry[1].likelihood))
        del self._partial_fixes[GROWN:]

    async def _grow_from(self, variant: Variant) -> CandidateStream:
        """Run the tests on a variant, as on the original, and return the stream of edits that can be added to it."""
        text = await asyncio.to_thread(ast.unparse, variant.tree)
        job = replace(self._space.job, change={**self._space.job.change, variant.path: text})
        observation = await self._evaluator.observe(job)
        trees = {**self._space.trees, variant.path: ast.parse(text)}
        suspects = [
            suspect for suspect in fault_localisation.suspects(trees, observation) if suspect.path == variant.path
        ]
        return await asyncio.to_thread(self._stream, trees, suspects, observation, variant)

    async def _retry_slow(self) -> None:
        """Retry the variants that ran out of steps or time, with more of both."""
        limits = self._limits
        longer = replace(limits, steps=limits.steps * SLOW_STEPS, wall_s=limits.wall_s * SLOW_S, max_failures=1)
        slow, self._slow = self._slow[:RETRIED], []
        for batch in _batch(slow, 24):
            if self._has_enough(batch[0].likelihood):
                return
            await self._try(batch, longer)

    async def _grow_blindly(self, suspects: Sequence[fault_localisation.Suspect]) -> None:
        """Grow the likeliest single edits by a second edit, although none of them let a test pass."""
        for number, variant in enumerate(sorted(self._likely, key=lambda variant: -variant.likelihood), 1):
            if self._is_over():
                return
            trees = {**self._space.trees, variant.path: ast.fix_missing_locations(variant.tree)}
            where = [
                suspect for suspect in suspects if (suspect.path, suspect.scope.name) == (variant.path, variant.scope)
            ]
            self._candidates.add(await asyncio.to_thread(self._stream, trees, where, self._space.observation, variant))
            if number % BLIND_AT_ONCE == 0:
                await self._try_all()

    def _report_progress(self) -> None:
        now, result = time.monotonic(), self._result
        if now - self._reported < REPORT_S:
            return
        self._reported = now
        text = f"tried {result.tried:,} of about {max(result.estimated, result.tried):,} candidates"
        if result.passing:
            text += f", {len(result.passing)} pass"
        elif result.best:
            text += f"; the best candidate passes {result.best} of {len(self._order)} tests"
        self._on_progress(Progress(tried=result.tried, estimated=result.estimated, best=result.best, text=text))


def _batch(items: Sequence[Variant], size: int) -> list[Sequence[Variant]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


# The classes below make variants and order them by likelihood.


EDIT_OPERATORS: tuple[EditOperator, ...] = (*EXPRESSION_EDITS, *STATEMENT_EDITS)
MOST_EDITS = 40_000
"""Maximum number of edits of one stream; less likely ones are dropped."""
EQUAL_SIDES = 0.03
SUSPICION_POWER = 2.0
"""Exponent of a line's suspicion in the likelihood of an edit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A file with edits.

    `tree` is the tree of the whole file. `text` is the text of the scope. `likelihood` is the product of the edits'
    likelihoods.
    """

    path: str
    scope: str
    tree: ast.Module
    text: str
    edits: tuple[Edit, ...]
    likelihood: float

    @property
    def candidate(self) -> Candidate:
        """The variant in the form that the sandbox accepts."""
        return Candidate(path=self.path, scope=self.scope, text=self.text)

    @property
    def kind(self) -> str:
        """Kinds of the edits, joined by `+`."""
        return "+".join(edit.kind for edit in self.edits)


@dataclass(slots=True)
class SeenTexts:
    """The texts of scopes seen so far, so that no two variants with the same text are tried."""

    texts: set[tuple[str, str, str]] = field(default_factory=set)

    def is_new(self, path: str, scope: str, text: str) -> bool:
        """Check whether a text is seen for the first time, and remember it."""
        before = len(self.texts)
        self.texts.add((path, scope, text))
        return len(self.texts) > before


class CandidateStream:
    """The variants with one edit to the suspected scopes of some trees, the likeliest first.

    Args:
        trees: maps paths to syntax trees.
        suspects: the scopes to edit.
        observation: what the tests did.
        words: the vocabulary of each file.
        seen_texts: the texts that were tried; the stream adds its own.
        before: the edits that the trees already contain.
        likelihood: the likelihood of the edits in `before` together.
    """

    def __init__(
        self,
        trees: Mapping[str, ast.Module],
        suspects: Sequence[Suspect],
        observation: SuiteObservation,
        words: Mapping[str, Vocabulary],
        seen_texts: SeenTexts,
        *,
        before: tuple[Edit, ...] = (),
        likelihood: float = 1.0,
    ) -> None:
        self._trees, self._seen_texts, self._before, self._base = trees, seen_texts, before, likelihood
        for suspect in suspects:  # a variant with the present text changes nothing
            seen_texts.is_new(suspect.path, suspect.scope.name, _text(trees[suspect.path], suspect))
        queue = [
            (edit.weight * _suspicion(suspect, edit) * _plausibility(trees[suspect.path], edit), number, edit, suspect)
            for suspect in suspects
            for number, edit in enumerate(_edits(trees[suspect.path], suspect, observation, words.get(suspect.path)))
        ]
        queue.sort(key=lambda entry: (-entry[0], entry[1]))
        self._queue, self._next = queue[:MOST_EDITS], 0

    @property
    def size(self) -> int:
        """Number of edits; edits that give the same text are counted separately."""
        return len(self._queue)

    @property
    def left(self) -> int:
        """Number of edits that were not looked at yet."""
        return len(self._queue) - self._next

    @property
    def likelihood(self) -> float:
        """Likelihood of the next variant; 0 if there is none."""
        return self._base * self._queue[self._next][0] if self.left else 0.0

    def __iter__(self) -> Iterator[Variant]:
        while self.left:
            likelihood = self.likelihood
            _, _, edit, suspect = self._queue[self._next]
            self._next += 1
            if variant := self._variant(edit, suspect, likelihood):
                yield variant

    def _variant(self, edit: Edit, suspect: Suspect, likelihood: float) -> Variant | None:
        tree = edit.apply(self._trees[suspect.path])
        try:
            text = _text(tree, suspect)
        except (ValueError, RecursionError):  # the tree cannot be written as text
            return None
        if not self._seen_texts.is_new(suspect.path, suspect.scope.name, text):
            return None
        return Variant(
            path=suspect.path,
            scope=suspect.scope.name,
            tree=tree,
            text=text,
            edits=(*self._before, edit),
            likelihood=likelihood,
        )


class CandidateQueue:
    """Several streams merged by likelihood."""

    def __init__(self) -> None:
        self._streams = list[tuple[Iterator[Variant], CandidateStream]]()
        self._heap = list[tuple[float, int]]()

    def add(self, stream: CandidateStream) -> None:
        """Add the variants of another stream."""
        self._streams.append((iter(stream), stream))
        self._push(len(self._streams) - 1)

    def take(self, most: int) -> list[Variant]:
        """Return up to `most` of the next variants."""
        taken = list[Variant]()
        while self._heap and len(taken) < most:
            _, number = heapq.heappop(self._heap)
            if variant := next(self._streams[number][0], None):
                taken.append(variant)
            self._push(number)
        return taken

    def _push(self, number: int) -> None:
        if (stream := self._streams[number][1]).left:
            heapq.heappush(self._heap, (-stream.likelihood, number))


def _edits(
    tree: ast.Module, suspect: Suspect, observation: SuiteObservation, words: Vocabulary | None
) -> Iterable[Edit]:
    errors = [test.error for test in observation.failing if test.error] + list(observation.broken.values())
    context = EditContext(
        path=suspect.path,
        tree=tree,
        scope=suspect.scope.position,
        lines=suspect.lines,
        kinds=observation.kinds.get(f"{suspect.path}:{suspect.scope.name}", {}),
        words=words or Vocabulary(),
        errors=tuple(dict.fromkeys((error.kind, error.message) for error in errors)),
    )
    for operator in EDIT_OPERATORS:
        yield from operator(context)


def _suspicion(suspect: Suspect, edit: Edit) -> float:
    score = suspect.lines.get(edit.line, min(suspect.lines.values()) / 2)
    return float(score**SUSPICION_POWER)


def _plausibility(tree: ast.Module, edit: Edit) -> float:
    """Return a factor below 1 if an edit makes both operands equal, as in `x - x`, which is rarely meant."""
    if edit.count is not None or not edit.position:
        return 1.0
    here, new = at(tree, edit.position), edit.new[0]
    beside = [ast.dump(side) for side in _sides(at(tree, edit.position[:-1])) if side is not here]
    within = [ast.dump(side) for side in _sides(new)]
    return EQUAL_SIDES if (beside and ast.dump(new) in beside) or len(set(within)) < len(within) else 1.0


def _sides(node: ast.AST) -> list[ast.expr]:
    """Return the operands of an operator for which equal operands make little sense; empty for other nodes."""
    match node:
        case ast.BinOp(left=left, right=right, op=ast.Sub() | ast.Div() | ast.FloorDiv() | ast.Mod() | ast.BitXor()):
            return [left, right]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.BoolOp(values=values):
            return values
    return []


def _text(tree: ast.Module, suspect: Suspect) -> str:
    return ast.unparse(at(tree, suspect.scope.position))
