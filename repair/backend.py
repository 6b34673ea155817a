"""The built-in engine as a backend of the chain: it answers where it has found a change, and else says why not.

One search serves all phases. PLANNING searches and tells what was found, CODING gives the files, REFLECTING tells what
a suite has refused; the answer is remembered for the state of the work, so that the next phase does not search again.
A search that gave up for want of time is begun anew only when there is more time than before.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Self, TypeVar

from core.dialogue import BUILT_IN, SAW_HELD_OUT, Completion, Material, ModelRequest
from core.errors import ModelRefused, ModelUnavailable, SandboxError
from core.states import Phase
from core.tasks import Change, digest
from models.base import BackendSettings, BaseModelHandler, OnText
from models.errors import BackendUnfit
from repair import replies
from repair.evaluator import TrialRunner
from repair.fitness import first_change, job_of, whole_tests, why_unfit
from repair.problem import Finding, Problem, Tell, settled
from repair.reporting import Reporter
from repair.synthesis import SynthesisRunner
from verdict.suite_runs import SuiteRuns

log = logging.getLogger(__name__)

Solver = Callable[[Problem, Tell], Awaitable[Finding]]
"""Looks for a change; raises `SandboxError` where nothing can be run."""

REMEMBERED = 64
ENDED_EARLY = 0.9
"""A search that took less than this share of its time looked at all there was: more time would not help it."""

_K = TypeVar("_K")
_V = TypeVar("_V")
_State = tuple[int | None, int, str, str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a search came to, from where it began, with how much time."""

    finding: Finding
    start: Change
    budget_s: float

    def answers(self, budget_s: float) -> bool:
        """Whether a search with so much time would come to the same."""
        ended = self.finding.seconds < ENDED_EARLY * self.budget_s
        return self.finding.change is not None or ended or budget_s <= self.budget_s


class RepairBackend(BaseModelHandler):
    """Program repair and synthesis; needs a sandbox and no model. Used from one event loop.

    Args:
        solve: the engine.
        budget_s: how long a search may take where the request says nothing else.
        grace_s: how much longer than it was given it may take, to end what runs.
        missing: why nothing can be run yet, in words for the owner; empty when all is well.
    """

    name = BUILT_IN
    setup = "it is built in; it needs a sandbox that can run tests"

    def __init__(
        self, solve: Solver, *, budget_s: float = 60.0, grace_s: float = 10.0, missing: Callable[[], str] = str
    ) -> None:
        super().__init__()
        self._solve, self._budget_s, self._grace_s, self._missing = solve, budget_s, grace_s, missing
        self._known: OrderedDict[_State, _Known] = OrderedDict()
        self._starts: OrderedDict[tuple[int | None, str], Change] = OrderedDict()

    @classmethod
    def configured(cls, settings: BackendSettings, model: str | None) -> Self | None:  # noqa: ARG003 - it has no model
        """The engine that the settings bring; a model's name means nothing to it."""
        made = settings.built_in() if settings.built_in else None
        return made if isinstance(made, cls) else None

    @classmethod
    def over(cls, runs: Callable[[], SuiteRuns | str], *, budget_s: float = 60.0) -> Self:
        """One that searches in a sandbox; `runs` gives it, or says why there is none yet."""
        return cls(_solver(runs), budget_s=budget_s, missing=lambda: why if isinstance(why := runs(), str) else "")

    @property
    def free(self) -> bool:
        """It runs here."""
        return True

    def is_available(self) -> bool:
        """Whether there is a sandbox."""
        self._detail = self._missing()
        return not self._detail

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """Search, or take what was found for the same state of the work, and say it in the words of the phase.

        Raises:
            BackendUnfit: it cannot help here, or has found nothing.
            ModelUnavailable: nothing can be run at present.
        """
        if why := why_unfit(request):
            raise BackendUnfit(why)
        assert request.material is not None, "requests without are unfit"
        began = asyncio.get_running_loop().time()
        reporter = Reporter(request, on_text)
        known = await self._known_or_sought(request, request.material, reporter)
        took_s, finding = asyncio.get_running_loop().time() - began, known.finding
        if finding.change is None:
            raise BackendUnfit(finding.why_not or "nothing was found", seconds=took_s, tried=finding.tried)
        text = self._said(request, request.material, known)
        extra = {"kind": finding.kind, "tried": finding.tried, "estimated": finding.estimated}
        if finding.saw_held_out:
            extra[SAW_HELD_OUT] = True
        return Completion(text=text, backend=self.name, model=BUILT_IN, latency_s=took_s, cost_usd=0.0, extra=extra)

    def _said(self, request: ModelRequest, material: Material, known: _Known) -> str:
        if request.phase is Phase.PLANNING:
            return replies.plan_text(known.finding)
        if request.phase is Phase.REFLECTING:
            return replies.reflection_text(known.finding, material)
        target = {**known.start, **(known.finding.change or {})}
        _keep(self._starts, (request.task_id, digest(settled(material.tree, target))), known.start)
        return replies.coding_text(known.finding, replies.changed_files(material, target))

    async def _known_or_sought(self, request: ModelRequest, material: Material, reporter: Reporter) -> _Known:
        """What is known for this state of the work, where a search would not tell more."""
        work = material.state
        excluded = frozenset(work.seen)
        state = (request.task_id, work.attempt, material.tree.commit, digest(work.change), excluded)
        budget_s = self._budget_s if request.within_s is None else min(request.within_s, self._budget_s)
        known = self._known.get(state)
        if known is None or not known.answers(budget_s):
            start, change = self._beginning(request.task_id, material)
            problem = Problem(
                job=job_of(material, change),
                whole_tests=whole_tests(material),
                task_id=request.task_id,
                description=material.context.task.spec.description,
                excluded=excluded,
                budget_s=budget_s,
            )
            known = _Known(finding=await self._sought(problem, reporter.progress), start=start, budget_s=budget_s)
            _keep(self._known, state, known)
            reporter.found(known.finding)
        return known

    def _beginning(self, task_id: int | None, material: Material) -> tuple[Change, Change]:
        """From where findings count, and the change that the engine is shown.

        Shown its own refused change, the engine goes on with the search that found it: what it finds then counts from
        where that search began.
        """
        change = settled(material.tree, material.state.change)
        start = self._starts.get((task_id, digest(change)))
        if start is not None:
            return start, change
        return (first := first_change(material)), first

    async def _sought(self, problem: Problem, tell: Tell) -> Finding:
        try:
            async with asyncio.timeout(problem.budget_s + self._grace_s):
                return await self._solve(problem, tell)
        except TimeoutError:
            why = f"its search did not end within {problem.budget_s:g} s"
            return Finding(why_not=why, seconds=problem.budget_s)
        except SandboxError as error:
            raise ModelUnavailable(f"nothing could be run: {error}") from error
        except Exception as error:
            # A fault of the engine must not end a task that a model can do; it is told, and the chain goes on.
            log.exception("the built-in engine failed")
            raise ModelRefused(f"a fault of its own: {type(error).__name__}: {error}") from error


def _solver(runs: Callable[[], SuiteRuns | str]) -> Solver:
    """The engine, made when it is first asked: its generators are many modules."""
    made: list[Solver] = []

    async def solve(problem: Problem, tell: Tell) -> Finding:
        if not made:
            found = runs()
            if isinstance(found, str):
                raise SandboxError(found)
            from repair.engine import Engine  # noqa: PLC0415 - see above

            made.append(Engine(TrialRunner(found), SynthesisRunner(found)).solve)
        return await made[0](problem, tell)

    return solve


def _keep(shelf: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    """Put it on the shelf; what was put there longest ago makes room."""
    shelf[key] = value
    shelf.move_to_end(key)
    while len(shelf) > REMEMBERED:
        shelf.popitem(last=False)
