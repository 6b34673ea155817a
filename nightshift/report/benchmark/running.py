"""Works through a run: every arm on the first item, then on the second, so that it may be stopped at any time.

What is stored is done. Whoever is killed begins again with the first item that an arm has no result of, and the attempt
that was under way goes on where it stood, for it is a durable task of a queue.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from nightshift.core.clock import Clock
from nightshift.core.errors import BenchmarkError
from nightshift.report.benchmark.results import Arm, BrokenOff, Item, Result
from nightshift.report.benchmark.store import BenchmarkStore, Mode, Run, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The request for a run, beside its arms.

    Attributes:
        mode: what models are given.
        items: so many, drawn from all; None for all.
        rounds: so often they are tried; arms with memory keep the lessons of the rounds before.
        budget_usd: what this and earlier calls for the run may cost together; None for any amount.

    Raises:
        BenchmarkError: the budget is no amount.
    """

    mode: Mode = Mode.SHOWN
    items: int | None = None
    rounds: int = 1
    budget_usd: float | None = None

    def __post_init__(self) -> None:
        if self.budget_usd is not None and not 0 < self.budget_usd < float("inf"):
            raise BenchmarkError(f"--budget: {self.budget_usd} is no amount of USD above 0")


class Turn(NamedTuple):
    """An attempt that a run has no result of; rounds are counted from 1 on."""

    arm: Arm
    item: Item
    round: int


class Attempting(Protocol):
    """Lets an arm try an item."""

    async def __call__(self, turn: Turn, limit_usd: float | None) -> Result | BrokenOff:
        """Make an attempt and return its result; the run stops where it was broken off.

        Args:
            turn: whose attempt, and at what.
            limit_usd: the most that it may cost; None for any amount.
        """
        ...


class Budget:
    """The remaining budget of a run: the least of several limits.

    Args:
        limits: each gives the USD that are left of one, or None where it has no end.
    """

    def __init__(self, *limits: Callable[[], float | None]) -> None:
        self._limits = limits

    @property
    def left_usd(self) -> float | None:
        """None for any amount."""
        amounts = [left for limit in self._limits if (left := limit()) is not None]
        return min(amounts, default=None)


def in_order(items: Iterable[Item], seed: int = 0) -> tuple[str, ...]:
    """The keys in an order that is the same each time and not that of the history, so that any part is a sample."""
    keys = sorted(item.key for item in items)
    random.Random(seed).shuffle(keys)  # noqa: S311  nothing is secret about it
    return tuple(keys)


def waiting(store: BenchmarkStore, run: Run) -> list[Turn]:
    """List the turns of a run that have no result, in the order of work; the arm that comes first takes turns."""
    arms = {arm.name: arm for arm in store.arms()}
    items = {item.key: item for item in store.items(run.repo)}
    rounds = range(1, run.rounds + 1)
    done = {(result.item, result.arm, number) for number in rounds for result in results_of_round(store, run, number)}
    return [
        Turn(arms[name], items[key], number)
        for number in rounds
        for index, key in enumerate(run.items)
        for name in _rotate(run.arms, index)
        if (key, name, number) not in done and key in items
    ]


def results_of_round(store: BenchmarkStore, run: Run, number: int) -> tuple[Result, ...]:
    """The results that count for a round of a run: its own where it has several, for arms learn in each."""
    if run.rounds > 1:
        return store.round_results(run.key, number)
    return store.results(run.repo, run.mode)


async def work(
    store: BenchmarkStore,
    run: Run,
    attempt: Attempting,
    *,
    budget: Budget,
    may_begin: Callable[[], Awaitable[str]],
    clock: Clock,
    tell: Callable[[Result], None],
) -> Run:
    """Work until all is done, the run is stopped, or nothing is left to be spent; gives the run as it stands then.

    Args:
        store: keeps the results.
        run: as it was begun.
        attempt: lets an arm try an item.
        budget: what may be spent.
        may_begin: returns when an attempt may begin, as after the owner's own work, or with a reason to stop.
        clock: dates the end.
        tell: is told each result.
    """
    for turn in waiting(store, run):
        if why := await may_begin():
            return _end(store, run, RunState.STOPPED, why, clock)
        if store.run(run.key).state is RunState.STOPPED:
            return store.run(run.key)
        left_usd = budget.left_usd
        if left_usd is not None and left_usd <= 0:
            return _end(store, run, RunState.STOPPED, "the budget is spent", clock)
        result = await attempt(turn, left_usd)
        if isinstance(result, BrokenOff):
            return _end(store, run, RunState.STOPPED, result.reason, clock)
        if run.rounds > 1:
            store.add_round_result(result, run.key, turn.round)
        else:
            store.add_result(result, run.mode)
        tell(result)
    return _end(store, run, RunState.DONE, "", clock)


def _end(store: BenchmarkStore, run: Run, state: RunState, reason: str, clock: Clock) -> Run:
    store.end_run(run.key, state, reason, clock())
    return store.run(run.key)


def _rotate(names: Sequence[str], number: int) -> Sequence[str]:
    first = number % len(names)
    return (*names[first:], *names[:first])
