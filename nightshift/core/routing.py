"""Results of models on tasks of a kind, and the models that an attempt asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResult:
    """Results of one model in phase CODING of tasks of one kind, over attempts that ended.

    Attributes:
        began: The number of attempts in which this model was the first to write code.
        solved: The number of attempts in `began` that were committed with this model's code.
        called: The number of attempts that another model began and in which this model was asked too.
        rescued: The number of attempts in `called` that were committed with this model's code.
        tries: The number of iterations that this model wrote in the attempts of `began`; the fields below refer to
            these attempts too.
        tokens_in: Tokens of prompts.
        tokens_out: Tokens of replies.
        cost_usd: The known part of the cost.
        unpriced: The number of calls whose cost is unknown.
        seconds: The total time of the replies.
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
"""Maps a kind of task to a mapping of `backend=model` to the model's results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The models that an attempt asks, each as `backend=model`.

    Attributes:
        kind: The kind of the task.
        ladder: All models, the weakest first.
        first: The model that the attempt asks first.
        cheap: The model that is asked in easy phases.
        explored: True if `first` was chosen at random, to collect results.
        why: The reason for the choice, for the owner.
    """

    kind: str
    ladder: tuple[str, ...]
    first: str
    cheap: str
    explored: bool = False
    why: str = ""
