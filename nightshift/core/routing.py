"""Results of models with tasks of a kind, and the models that an attempt asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """Results of one model in phase CODING of tasks of one kind, over attempts that ended.

    Attributes:
        began: The attempts in which it was the first model to write code.
        solved: The attempts it began that were committed with its code.
        called: The attempts that another model began and in which it was asked as well.
        rescued: The attempts of `called` that were committed with its code.
        tries: The iterations that it wrote in the attempts it began; tokens, cost and seconds refer to these too.
        tokens_in: Tokens of prompts.
        tokens_out: Tokens of replies.
        cost_usd: The known part of their cost.
        unpriced: The calls of unknown cost.
        seconds: The total time of its replies.
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
"""Kind of task to `backend=model` to its results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Models that an attempt asks, by `backend=model`.

    Attributes:
        kind: The kind of the task.
        ladder: All models, the weakest first.
        first: The model that begins.
        cheap: The model that is asked in easy phases.
        explored: True if `first` was drawn at random, in order to learn.
        why: The reason, for the owner.
    """

    kind: str
    ladder: tuple[str, ...]
    first: str
    cheap: str
    explored: bool = False
    why: str = ""
