"""How much a repository's benchmark counts when models are chosen for its tasks, beside what they did with real ones.

An item of it is no task: its model had no lessons, nobody was asked, and it may have been trained on the commit. So an
item counts as three tenths of a real attempt, and less the older it is: nothing is left of it after ninety days.
Together they count as `MOST` attempts at most, for a benchmark that misleads, however large it is, must be overcome by
some tens of real tasks (`tests/models/test_benchmark_prior.py`). It is a prior and no result: what is stored of real
attempts stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from nightshift.core.tasks.benchmarked import Benchmarked

ITEM_WEIGHT = 0.3
"""So much of a real attempt an item counts as on the day of its own attempt."""
FORGOTTEN_DAYS = 90.0
"""What it counts falls evenly to nothing in so many days."""
MOST = 10.0
"""Real attempts that a benchmark counts as at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What a benchmark says of a model, in real attempts; `why` is that in words."""

    solved: float = 0.0
    count: float = 0.0
    why: str = ""


NOTHING = Prior()


def prior_of(found: Benchmarked, now: datetime) -> Prior:
    """What a benchmark of a model counts as now."""
    days = max(0.0, (now - found.at).total_seconds() / 86_400)
    count = min(MOST, found.items * ITEM_WEIGHT * max(0.0, 1 - days / FORGOTTEN_DAYS))
    if not count:
        return NOTHING
    ago = "today" if days < 1 else f"{days:.0f} {'day' if days < 1.5 else 'days'} ago"
    said = f"solved {found.solved} of {found.items} benchmark items here {ago} (counts as {count:.2g} attempts)"
    return Prior(solved=count * found.solved / found.items, count=count, why=said)


def priors(found: Iterable[Benchmarked], now: datetime) -> dict[str, Prior]:
    """What benchmarks of models count as now, by `backend=model`; one for each model."""
    known = {one.model: prior_of(one, now) for one in found}
    return {model: prior for model, prior in known.items() if prior.count}
