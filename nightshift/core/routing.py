"""How well models did with tasks of a kind, and which of them an attempt asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """Results of one model in phase CODING of tasks of one kind, over attempts that ended.

    Attributes:
        began: the attempts whose code it was the first model to write.
        solved: those of them that were committed with what it wrote.
        called: the attempts that another model had begun and in which it was asked as well.
        rescued: those of them that were committed with what it wrote.
        tries: the iterations that it wrote in the attempts it began; tokens, cost and seconds are of these too.
        tokens_in: tokens of prompts.
        tokens_out: tokens of replies.
        cost_usd: what is known of their cost.
        unpriced: the calls whose cost is not known.
        seconds: how long its replies took.
    """

    began: int = 0
    solved: int = 0
    called: int = 0
    rescued: int = 0
    tries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0

    def __add__(self, other: ModelResult) -> ModelResult:
        return ModelResult(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})


Results = Mapping[str, Mapping[str, ModelResult]]
"""Kind of task to `backend=model` to what it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Models that an attempt asks, by `backend=model`.

    Attributes:
        kind: of the task.
        ladder: all of them, the weakest first.
        first: who begins.
        cheap: who is asked in easy phases.
        explored: `first` was drawn by lot, in order to learn.
        why: in words for the owner.
    """

    kind: str
    ladder: tuple[str, ...]
    first: str
    cheap: str
    explored: bool = False
    why: str = ""
