"""Works through a run: all arms on the first item, then on the second, and so on, so it may be stopped at any time.

Stored results are final. After an interruption, the run continues with the first item that an arm has no result for. An
interrupted attempt continues where it was, because it is a durable task of a queue.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from nightshift.core.clock import Clock
from nightshift.core.errors import BenchmarkError
from nightshift.core.tasks.benchmark_results import Arm, BrokenOff, Item, Result
from nightshift.storage.db.benchmark_store import BenchmarkStore, Mode, Run, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The parameters of a run, except its arms.

    Attributes:
        mode: the part of an item that models are given.
        items: number of items to draw; None for all.
        budget_usd: maximum cost of the run in USD, including the cost before the run was last continued; None for no
            limit.

    Raises:
        BenchmarkError: the budget is not a positive amount.
    """

    mode: Mode = Mode.SHOWN
    items: int | None = None
    budget_usd: float | None = None

    def __post_init__(self) -> None:
        if self.budget_usd is not None and not 0 < self.budget_usd < float("inf"):
            raise BenchmarkError(f"--budget: {self.budget_usd} is not an amount of USD above 0")


class Turn(NamedTuple):
    """An attempt that a run has no result for."""

    arm: Arm
    item: Item


class Attempting(Protocol):
    """Runs an arm on an item."""

    async def __call__(self, turn: Turn, limit_usd: float | None) -> Result | BrokenOff:
        """Make an attempt and return its result; the run stops if the attempt was interrupted.

        Args:
            turn: the arm and the item.
            limit_usd: maximum cost of the attempt in USD; None for no limit.
        """
        ...


class Budget:
    """The remaining budget of a run: the minimum of several limits.

    Args:
        limits: each returns the USD left of one limit, or None if it is unlimited.
    """

    def __init__(self, *limits: Callable[[], float | None]) -> None:
        self._limits = limits

    @property
    def left_usd(self) -> float | None:
        """The remaining USD; None for no limit."""
        amounts = [left for limit in self._limits if (left := limit()) is not None]
        return min(amounts, default=None)


def in_order(items: Iterable[Item], seed: int = 0) -> tuple[str, ...]:
    """Return the items' keys in random order, which is the same each time. Any part of the order is a random sample."""
    keys = sorted(item.key for item in items)
    random.Random(seed).shuffle(keys)  # noqa: S311  not for security
    return tuple(keys)


def waiting(store: BenchmarkStore, run: Run) -> list[Turn]:
    """List the attempts of a run that have no result, in the order of work.

    The arms take turns at being the first to attempt an item.
    """
    arms = {arm.name: arm for arm in store.arms()}
    items = {item.key: item for item in store.items(run.repo)}
    done = {(result.item, result.arm) for result in store.results(run.repo, run.mode)}
    return [
        Turn(arms[name], items[key])
        for index, key in enumerate(run.items)
        for name in _rotate(run.arms, index)
        if (key, name) not in done and key in items
    ]


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
    """Work until all attempts are done, the run is stopped, or the budget is spent.

    Return the run's state at that time.

    Args:
        store: stores the results.
        run: the run to work on.
        attempt: runs an arm on an item.
        budget: the remaining budget.
        may_begin: waits until an attempt may begin, for example after the owner's own work; returns a reason to stop,
            or an empty string.
        clock: returns the current time, which is stored as the end.
        tell: receives each result.
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
        store.add_result(result, run.mode)
        tell(result)
    return _end(store, run, RunState.DONE, "", clock)


def _end(store: BenchmarkStore, run: Run, state: RunState, reason: str, clock: Clock) -> Run:
    store.end_run(run.key, state, reason, clock())
    return store.run(run.key)


def _rotate(names: Sequence[str], number: int) -> Sequence[str]:
    first = number % len(names)
    return (*names[first:], *names[:first])
