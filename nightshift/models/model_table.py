"""The tables of `models.toml`, and facts about models by their names, their servers' lists and their files.

The choice of a model where the owner named none goes by size, age and family; a family that is not in the table counts
as an average one of 2025. A server that lists no window, and a name that is not known here, leave the window open: a
wrong one would cut prompts that fit, or send some that do not.
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
    """Models of one generation: the form of their names, when they came out, and how well they code for their size."""

    names: str
    released: float
    coding: float = 1.0
    thinks: bool = False


TABLE = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
PHRASES = {name: re.compile("|".join(words), re.IGNORECASE) for name, words in TABLE["phrases"].items()}
"""Words of servers and in names of models, by their meaning."""
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
    fit = [name for name in names if not PHRASES["unfit"].search(name)]
    matches = (name for pattern in preferred for name in fit if re.search(pattern, name, re.IGNORECASE))
    return next(matches, None) or max(fit, key=strength, default=None)


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
"""The command to type, by memory."""


_SIZE = re.compile(r"(?<![\w.])(?:(\d+)x)?e?(\d+(?:\.\d+)?)\s*(b|m)(?![a-z0-9])", re.IGNORECASE)
"""`1.5b`, `30B` of `30b-a3b`, `e4b`, `270m`, `8x7b`; not the `4bit` of a quantization."""


def parameters_by_name(name: str) -> float | None:
    """Return the billions of parameters that a model's name tells; of a mixture of experts all of them."""
    matches = _SIZE.findall(name.replace("_", "-"))
    sizes = [int(times or 1) * float(size) / (1000 if unit in "mM" else 1) for times, size, unit in matches]
    return max(sizes, default=None)


def read_parameters(row: Mapping[str, Any]) -> float | None:
    """Return the billions of parameters that a server lists of a model: llama.cpp in `meta`, Ollama in `details`."""
    if count := _size(_look_up(row, "meta", "n_params")):
        return count / 1e9
    size = _look_up(row, "details", "parameter_size")
    return parameters_by_name(size) if isinstance(size, str) else None


def _look_up(row: object, *keys: str) -> object:
    """Look under these keys, one within the other; None where a server sent something else."""
    for key in keys:
        row = row.get(key) if isinstance(row, Mapping) else None
    return row


USUAL, WIDE = 32_768, 65_536
"""Tokens of a local model's context where its owner set none: the second where the memory suffices."""
MEMORY_SHARE = 0.75
_SHAPE = ("block_count", "embedding_length", "attention.head_count")
_LISTED = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Of vLLM and SGLang; OpenRouter and Together; Groq; Mistral and LM Studio."""


def window_by_name(model: str) -> int | None:
    """The window of a vendor's model, in tokens."""
    return next((row["tokens"] for row in TABLE["windows"] if re.search(row["names"], model)), None)


def read_window(row: Mapping[str, Any]) -> int | None:
    """The window that a server's list of models tells, in tokens."""
    return next((size for name in _LISTED if (size := _size(row.get(name)))), None)


def read_trained_window(row: Mapping[str, Any]) -> int | None:
    """The window that a model was made for, where llama.cpp's server lists it; it may have been started with less."""
    return _size(_look_up(row, "meta", "n_ctx_train"))


def read_started_window(props: object) -> int | None:
    """The window that llama.cpp's server was started with, as its `/props` tell."""
    return _size(_look_up(props, "default_generation_settings", "n_ctx"))


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def memory_bytes() -> int:
    """The memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def read_cache_bytes(info: Mapping[str, Any]) -> int:
    """Read the bytes of a token in the cache of a model, from the head of its file; 0 where it does not tell."""
    name = info.get("general.architecture")
    layers, width, heads = (_size(info.get(f"{name}.{key}")) or 0 for key in _SHAPE)
    each = info.get(f"{name}.attention.head_count_kv")
    in_all = sum(each) if isinstance(each, list) else layers * (_size(each) or heads)
    key, value = (_size(info.get(f"{name}.attention.{of}_length")) or width // (heads or 1) for of in ("key", "value"))
    return 2 * in_all * (key + value)


def choose_window(setting: int | None, trained: int | None, needed_bytes: int, memory: float) -> int:
    """Choose the context that a local model is loaded with, in tokens: never more than it was made for.

    Args:
        setting: of the owner.
        trained: the context that it was made for.
        needed_bytes: its file and its cache at `WIDE` tokens.
        memory: of the machine that it runs on, in bytes.
    """
    wanted = setting or (WIDE if needed_bytes <= MEMORY_SHARE * memory else USUAL)
    return min(wanted, trained or wanted)
