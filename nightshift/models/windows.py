"""How many tokens models take, prompt and reply together: as servers list it, else by name as in `models.toml`.

A server that lists nothing, and a name that is not known here, leave the window open: a wrong one would cut prompts
that fit, or send some that do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nightshift.models.choosing import TABLE

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
