"""How many tokens models take, prompt and reply together: as servers list it, else by name as in `models.toml`.

A server that lists nothing, and a name that is not known here, leave the window open: a wrong one would cut prompts
that fit, or send some that do not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from nightshift.models.choosing import TABLE

USUAL, WIDE = 32_768, 65_536
"""Tokens of a local model's context where its owner set none: the second where the memory suffices."""
MEMORY_SHARE = 0.75
_SHAPE = ("block_count", "embedding_length", "attention.head_count")
_LISTED = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Of vLLM and SGLang; OpenRouter and Together; Groq; Mistral and LM Studio."""


def window_by_name(model: str) -> int | None:
    """The window of a vendor's model, in tokens."""
    return next((row["tokens"] for row in TABLE["windows"] if re.search(row["names"], model)), None)


def listed_window(row: Mapping[str, Any]) -> int | None:
    """The window that a server's list of models tells, in tokens."""
    return next((size for name in _LISTED if (size := _size(row.get(name)))), None)


def trained_window(row: Mapping[str, Any]) -> int | None:
    """What a model was made for, where llama.cpp's server lists it; it may have been started with less."""
    meta = row.get("meta")
    return _size(meta.get("n_ctx_train")) if isinstance(meta, Mapping) else None


def started_window(props: object) -> int | None:
    """What llama.cpp's server was started with, as its `/props` tell."""
    settings = props.get("default_generation_settings") if isinstance(props, Mapping) else None
    return _size(settings.get("n_ctx")) if isinstance(settings, Mapping) else None


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
