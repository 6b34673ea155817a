"""Chooses, of the arms of a benchmark, how each model shall work on a repository's tasks.

Of a model's arms the one with the highest lower bound of Wilson's interval is chosen: few items prove little. Of equals
it is the one whose items cost less, then the quicker one. Figures of arms are never added up, since they differ in what
they measured. Arms with memory are left out: they tell what lessons are worth, and recalling them is a setting of its
own. So is the built-in engine, which no route chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nightshift.core.tasks.benchmarked import Benchmarked, Compared
from nightshift.report.benchmark.report import ArmFigures

LEAST_ITEMS = 5
"""After fewer items an arm is not chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An arm that was chosen for its model.

    Attributes:
        figures: of the arm.
        others: the other arms of the model that it was chosen from, the best first.
        measured: what of it may be taken over.
    """

    figures: ArmFigures
    others: tuple[ArmFigures, ...]
    measured: Benchmarked


def choose(arms: Iterable[ArmFigures]) -> tuple[Choice, ...]:
    """An arm for each model that has one with enough items; by the model's name."""
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
