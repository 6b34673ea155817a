"""The choice of a model where the owner named none, by size, age and family; advice on models by memory.

The tables, their date and sources are in `models.toml`. A family that is not there counts as an average one of 2025.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightshift.models.model_sizes import parameters_by_name

UNFIT = re.compile(
    r"embed|minilm|bge-|rerank|guard|\bocr|whisper|tts|audio|realtime|image|dall-e|moderation|transcri|search|sora"
    r"|davinci|babbage|turbo-instruct|codex|vision-only|draft",
    re.IGNORECASE,
)
"""Names of models that cannot chat, or not by the API that is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models of one generation: the form of their names, when they came out, and how well they code for their size."""

    names: str
    released: float
    coding: float = 1.0
    thinks: bool = False


TABLE = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
FAMILIES = tuple(Family(**row) for row in TABLE["families"])
UNKNOWN = Family(names="", released=2025.0, coding=0.8)
UNKNOWN_PARAMETERS = 2.0
YEARLY = 3.0
"""By this factor a model may be smaller a year later and code as well; benchmarks of one size rose so since 2023."""
_ACTIVE = re.compile(r"-a(\d+(?:\.\d+)?)b", re.IGNORECASE)


def family_of(name: str) -> Family:
    """The family of a model, by its name."""
    return next((each for each in FAMILIES if re.search(each.names, name, re.IGNORECASE)), UNKNOWN)


def strength(name: str) -> float:
    """How well a model may code: its size, in the billions that a model of 2024 would need for the same."""
    family, size = family_of(name), parameters_by_name(name) or UNKNOWN_PARAMETERS
    if active := _ACTIVE.search(name):
        size = (size * float(active[1])) ** 0.5  # experts: the usual rule for an equal dense model
    return float(size * family.coding * YEARLY ** (family.released - 2024))


def choose(names: Sequence[str], preferred: Iterable[str] = ()) -> str | None:
    """The model to use when none was named.

    Args:
        names: what the server offers, best first where nothing else tells them apart.
        preferred: regular expressions, best first; the first offered name that one of them finds is taken.
    """
    fit = [name for name in names if not UNFIT.search(name)]
    for pattern in preferred:
        for name in fit:
            if re.search(pattern, name, re.IGNORECASE):
                return name
    return max(fit, key=strength, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A model of this year for a machine: memory of the graphics card or the machine in GB, Ollama's name, why."""

    memory_gb: int
    model: str
    because: str


ADVICE = tuple(Advice(**row) for row in TABLE["advice"])
"""The recommendation by memory class, as of 2026-11-28; the smallest is what `setup` names."""
SUGGESTED = ADVICE[0].model
PULL = "`ollama pull MODEL`, where MODEL is " + ", ".join(f"{each.model} ({each.memory_gb} GB)" for each in ADVICE)
"""What to type, by memory."""
