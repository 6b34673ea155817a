"""The size of a model in billions of parameters: by its name, by what servers list of it, or by its file's header."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BILLIONS = re.compile(r"(?<![\w.])(?:\d+x)?e?(\d+(?:\.\d+)?)\s*(b|m)(?![a-z0-9])", re.IGNORECASE)
"""`1.5b`, `30B` of `30b-a3b`, `e4b`, `270m`, `8x7b`; not the `4bit` of a quantization."""
_EXPERTS = re.compile(r"(?<![\w.])(\d+)x(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)


def parameters_by_name(name: str) -> float | None:
    """Return the billions of parameters that a model's name tells; of a mixture of experts all of them."""
    if experts := _EXPERTS.search(name.replace("_", "-")):
        return int(experts[1]) * float(experts[2])
    sizes = [
        float(found[1]) / (1000 if found[2] in "mM" else 1) for found in _BILLIONS.finditer(name.replace("_", "-"))
    ]
    return max(sizes, default=None)


def listed_parameters(row: Mapping[str, Any]) -> float | None:
    """Return the billions of parameters that a server lists of a model: llama.cpp in `meta`, Ollama in `details`."""
    meta, details = row.get("meta"), row.get("details")
    count = meta.get("n_params") if isinstance(meta, Mapping) else None
    if isinstance(count, int) and not isinstance(count, bool) and count > 0:
        return count / 1e9
    size = details.get("parameter_size") if isinstance(details, Mapping) else None
    return parameters_by_name(size) if isinstance(size, str) else None
