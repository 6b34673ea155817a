"""Chooses from the arms of a benchmark how each model should work on a repository's tasks.

For each model the arm with the highest lower bound of Wilson's interval is chosen, since few items prove little. Ties
go to the arm with cheaper items, then to the faster one. Figures of different arms are never added up, because the arms
measured different things. Arms with memory are ignored: they measure the value of lessons, and recall is a separate
setting. The built-in engine is ignored too, since no route chooses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nightshift.core.tasks.benchmarked import Benchmarked, Compared
from nightshift.report.benchmark.report import ArmFigures

LEAST_ITEMS = 5
"""Minimum number of items after which an arm may be chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An arm that was chosen for its model.

    Attributes:
        figures: the figures of the chosen arm.
        others: the model's other arms that were considered, best first.
        measured: what the owner may adopt: the results and settings of the chosen arm.
    """

    figures: ArmFigures
    others: tuple[ArmFigures, ...]
    measured: Benchmarked


def choose(arms: Iterable[ArmFigures]) -> tuple[Choice, ...]:
    """Choose an arm for each model that has one with enough items; sorted by the model's name."""
    fit = [
        figures
        for figures in arms
        if figures.arm.model and not figures.arm.memory and figures.solved.whole >= LEAST_ITEMS
    ]
    labels = sorted({figures.arm.label for figures in fit})
    by_model = {label: [figures for figures in fit if figures.arm.label == label] for label in labels}
    return tuple(_choice(sorted(of_model, key=_rank)) for of_model in by_model.values())


def _rank(figures: ArmFigures) -> tuple[float, float, float, str]:
    return -figures.interval.low, figures.item_usd, figures.seconds, figures.arm.name


def _choice(ranked: Sequence[ArmFigures]) -> Choice:
    best, others = ranked[0], tuple(ranked[1:])
    assert best.last_at is not None, "it has worked on items"
    compared = tuple(name for name in Compared if len({getattr(each.arm, name) for each in ranked}) > 1)
    measured = Benchmarked(
        model=best.arm.label, arm=best.arm.name, solved=best.solved.part, items=best.solved.whole, at=best.last_at,
        protocol=best.arm.protocol, tools=best.arm.tools, readers=best.arm.readers, taken=compared,
    )  # fmt: skip
    return Choice(figures=best, others=others, measured=measured)
