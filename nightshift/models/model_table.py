"""The tables of `models.toml`, and facts about models from their names, their servers' lists and their files.

If the owner named no model, a model is chosen by size, age and family. An unknown family counts as an average family of
2025. If neither the server nor the table gives a context window, the window stays unknown, because a wrong one would
cut prompts that fit, or let prompts through that do not.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models of one generation.

    Attributes:
        names: a pattern for the names of the models.
        released: the release year.
        coding: how well the models code for their size, as a factor.
        thinks: True if the models think.
    """

    names: str
    released: float
    coding: float = 1.0
    thinks: bool = False


TABLE = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
PHRASES = {name: re.compile("|".join(words), re.IGNORECASE) for name, words in TABLE["phrases"].items()}
"""Maps a name to the pattern for all phrases of one meaning in servers' messages or models' names."""
FAMILIES = tuple(Family(**row) for row in TABLE["families"])
UNKNOWN = Family(names="", released=2025.0, coding=0.8)
UNKNOWN_PARAMETERS = 2.0
YEARLY = 3.0
"""The factor by which models become smaller each year for the same coding ability, according to benchmarks since 2023.
"""
_ACTIVE = re.compile(r"-a(\d+(?:\.\d+)?)b", re.IGNORECASE)


def family_of(name: str) -> Family:
    """Return the family of a model, by its name."""
    return next((each for each in FAMILIES if re.search(each.names, name, re.IGNORECASE)), UNKNOWN)


def strength(name: str) -> float:
    """Estimate how well a model codes.

    The result is the size of an equally good model of 2024, in billions of parameters.
    """
    family, size = family_of(name), parameters_by_name(name) or UNKNOWN_PARAMETERS
    if active := _ACTIVE.search(name):
        size = (size * float(active[1])) ** 0.5  # mixture of experts: the usual rule for an equivalent dense model
    return float(size * family.coding * YEARLY ** (family.released - 2024))


def choose(names: Sequence[str], preferred: Iterable[str] = ()) -> str | None:
    """Choose a model if none was named.

    Args:
        names: the server's models; the first wins if nothing else distinguishes them.
        preferred: regular expressions, best first; the first name that matches is chosen.
    """
    fit = [name for name in names if not PHRASES["unfit"].search(name)]
    matches = (name for pattern in preferred for name in fit if re.search(pattern, name, re.IGNORECASE))
    return next(matches, None) or max(fit, key=strength, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A recommended model.

    Attributes:
        memory_gb: memory of the graphics card or the machine that the model needs, in GB.
        model: the model's name in Ollama.
        because: the reason for the recommendation.
    """

    memory_gb: int
    model: str
    because: str


ADVICE = tuple(Advice(**row) for row in TABLE["advice"])
"""Recommendations by memory size, as of 2026-11-28, the smallest model first."""
SUGGESTED = ADVICE[0].model
PULL = "`ollama pull MODEL`, where MODEL is " + ", ".join(f"{each.model} ({each.memory_gb} GB)" for each in ADVICE)
"""The command for the owner to type, with the recommended models by memory size."""


_SIZE = re.compile(r"(?<![\w.])(?:(\d+)x)?e?(\d+(?:\.\d+)?)\s*(b|m)(?![a-z0-9])", re.IGNORECASE)
"""Matches `1.5b`, `30B` of `30b-a3b`, `e4b`, `270m`, `8x7b`; not the `4bit` of a quantization."""


def parameters_by_name(name: str) -> float | None:
    """Return the billions of parameters that a model's name states, or None.

    For a mixture of experts, the parameters of all experts count.
    """
    matches = _SIZE.findall(name.replace("_", "-"))
    sizes = [int(times or 1) * float(size) / (1000 if unit in "mM" else 1) for times, size, unit in matches]
    return max(sizes, default=None)


def read_parameters(row: Mapping[str, Any]) -> float | None:
    """Return the billions of parameters that a server's list states for a model, or None.

    llama.cpp states them in `meta`, Ollama in `details`.
    """
    if count := _size(_look_up(row, "meta", "n_params")):
        return count / 1e9
    size = _look_up(row, "details", "parameter_size")
    return parameters_by_name(size) if isinstance(size, str) else None


def _look_up(row: object, *keys: str) -> object:
    """Look up nested keys; None if the data has another shape."""
    for key in keys:
        row = row.get(key) if isinstance(row, Mapping) else None
    return row


USUAL, WIDE = 32_768, 65_536
"""Context sizes in tokens for a local model without a setting. The larger one is used if the memory suffices."""
MEMORY_SHARE = 0.75
_SHAPE = ("block_count", "embedding_length", "attention.head_count")
_LISTED = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Names of the field that contains the context window. In this order, they are used by vLLM and SGLang, by OpenRouter
and Together, by Groq, and by Mistral and LM Studio.
"""


def window_by_name(model: str) -> int | None:
    """Return the context window of a vendor's model in tokens, or None if its name is not in the table."""
    return next((row["tokens"] for row in TABLE["windows"] if re.search(row["names"], model)), None)


def read_window(row: Mapping[str, Any]) -> int | None:
    """Return the context window in tokens from a row of a server's list of models, or None."""
    return next((size for name in _LISTED if (size := _size(row.get(name)))), None)


def read_trained_window(row: Mapping[str, Any]) -> int | None:
    """Return the context window that the model was trained for, as llama.cpp's server lists it, or None.

    The server may have been started with a smaller window.
    """
    return _size(_look_up(row, "meta", "n_ctx_train"))


def read_started_window(props: object) -> int | None:
    """Return the context window that llama.cpp's server was started with, from its `/props`."""
    return _size(_look_up(props, "default_generation_settings", "n_ctx"))


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def memory_bytes() -> int:
    """Return the memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def read_cache_bytes(info: Mapping[str, Any]) -> int:
    """Return the size of one token in the cache in bytes, from the header of a model file.

    Returns 0 if the header does not contain the necessary fields.
    """
    name = info.get("general.architecture")
    layers, width, heads = (_size(info.get(f"{name}.{key}")) or 0 for key in _SHAPE)
    each = info.get(f"{name}.attention.head_count_kv")
    in_all = sum(each) if isinstance(each, list) else layers * (_size(each) or heads)
    key, value = (_size(info.get(f"{name}.attention.{of}_length")) or width // (heads or 1) for of in ("key", "value"))
    return 2 * in_all * (key + value)


def choose_window(setting: int | None, trained: int | None, needed_bytes: int, memory: float) -> int:
    """Choose the context size for loading a local model, in tokens; never more than the model was trained for.

    Args:
        setting: the owner's setting.
        trained: the context that the model was trained for.
        needed_bytes: size of the model's file plus the model's cache at `WIDE` tokens.
        memory: memory of the machine that runs the model, in bytes.
    """
    wanted = setting or (WIDE if needed_bytes <= MEMORY_SHARE * memory else USUAL)
    return min(wanted, trained or wanted)
