"""Decides how much a model should think, and handles a reply that thinking used up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from nightshift.core.dialogue import Completion, Finish, ModelRequest, Thinking
from nightshift.core.tasks.states import Phase
from nightshift.models.base import BaseModelHandler

BRIEFLY = frozenset({Phase.PLANNING, Phase.REFLECTING, Phase.REVIEW})
"""Phases in which a little thinking is worth the time, whatever the model."""
SMALL = 10.0
"""Limit in billions of parameters. A smaller model fills its reply with thoughts before it writes code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingConfig:
    """The owner's thinking levels: for all phases, and for single ones; None is `auto`."""

    usual: Thinking | None = None
    phases: Mapping[Phase, Thinking | None] = field(default_factory=dict)

    @classmethod
    def of(cls, usual: str, phases: Mapping[Phase, str]) -> Self:
        """Create the config from the settings; `auto` becomes None."""
        levels = {word: None if word == "auto" else Thinking(word) for word in (usual, *phases.values())}
        return cls(usual=levels[usual], phases={phase: levels[word] for phase, word in phases.items()})

    def level(self, phase: Phase, backend: BaseModelHandler) -> Thinking | None:
        """Return how much the model should think in a phase; None leaves that to its vendor."""
        if wanted := self.phases.get(phase, self.usual):
            return wanted
        if phase in BRIEFLY:
            return Thinking.LOW
        size = backend.parameters_b
        return Thinking.OFF if phase is Phase.CODING and size is not None and size < SMALL else None


def lessen_thinking(request: ModelRequest) -> ModelRequest:
    """Return the request with the next lower thinking level. Below low, thinking is off."""
    less = {Thinking.HIGH: Thinking.MEDIUM, Thinking.MEDIUM: Thinking.LOW}
    return replace(request, thinking=less.get(request.thinking or Thinking.OFF, Thinking.OFF))


def is_used_up(completion: Completion) -> bool:
    """Check whether thinking used up the whole reply, so that it contains no answer."""
    nothing = not (completion.text.strip() or completion.tool_calls)
    return nothing and completion.finish is Finish.LENGTH and bool(completion.thoughts or completion.tokens_out)


def say_used_up(completion: Completion) -> str:
    """Explain to the owner that thinking used up the reply."""
    return f"thinking used all {completion.tokens_out:,} tokens of the reply (MODEL_MAX_TOKENS)"
