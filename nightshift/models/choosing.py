"""The choice of a model where the owner named none, by size, age and family; advice on models by memory.

Figures of coding benchmarks, read on 2026-11-28: OpenHands Index (SWE-bench Verified), vendors' model cards, and the
harness studies that the manual names. A family that is not known here counts as an average one of 2025.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


FAMILIES = (
    Family(names=r"qwen3[.-]?[678]", released=2026.3, coding=1.5, thinks=True),
    Family(names=r"qwen3-?coder-?next", released=2026.1, coding=1.4),
    Family(names=r"qwen3[.-]?5", released=2026.1, coding=1.4, thinks=True),
    Family(names=r"qwen3-?coder", released=2025.6, coding=1.3),
    Family(names=r"qwen3", released=2025.4, thinks=True),
    Family(names=r"qwq", released=2025.2, thinks=True),
    Family(names=r"qwen2\.?5-?coder", released=2024.8, coding=1.2),
    Family(names=r"qwen2", released=2024.5),
    Family(names=r"devstral-?(small-)?2", released=2025.95, coding=1.4),
    Family(names=r"devstral", released=2025.5, coding=1.3),
    Family(names=r"codestral", released=2024.4, coding=1.1),
    Family(names=r"magistral|ministral-?3", released=2025.9, thinks=True),
    Family(names=r"gemma-?4", released=2026.3, coding=0.4, thinks=True),
    Family(names=r"gemma-?3", released=2025.2, coding=0.6),
    Family(names=r"gemma|codegemma", released=2024.3, coding=0.6),
    Family(names=r"gpt-oss", released=2025.6, coding=1.3, thinks=True),
    Family(names=r"nemotron-?3", released=2025.95, coding=0.8, thinks=True),
    Family(names=r"glm-?[45][.\d]*", released=2026.0, coding=1.3, thinks=True),
    Family(names=r"deepseek-?(v4|v3\.[12]|r1)|kimi|minimax|seed-oss|ernie|hunyuan", released=2026.0, thinks=True),
    Family(names=r"deepseek-?coder-?v2", released=2024.5, coding=1.1),
    Family(names=r"deepseek-?coder|starcoder|code-?llama|codellama", released=2023.9, coding=1.0),
    Family(names=r"granite-?4", released=2025.8, coding=0.8),
    Family(names=r"llama-?[34]|mistral|phi", released=2024.6, coding=0.7),
)
"""The first family whose form is in a name is its own."""
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


ADVICE = (
    Advice(memory_gb=8, model="qwen3.5:9b", because="6 GB at 4 bits; Aider polyglot 46 % in a good harness"),
    Advice(memory_gb=16, model="gpt-oss:20b", because="13 GB at 4 bits; made for 16 GB"),
    Advice(memory_gb=24, model="qwen3.6:27b", because="17 GB at 4 bits; Terminal-Bench 2.0 43 %"),
    Advice(memory_gb=48, model="qwen3.6:35b-a3b", because="24 GB at 4 bits and fast; SWE-bench Verified 73 % (vendor)"),
)
"""The recommendation by memory class, as of 2026-11-28; the smallest is what `setup` names."""
SUGGESTED = ADVICE[0].model
PULL = "`ollama pull MODEL`, where MODEL is " + ", ".join(f"{each.model} ({each.memory_gb} GB)" for each in ADVICE)
"""What to type, by memory."""
