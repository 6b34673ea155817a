"""The size of a model in billions of parameters: by its name, or by what its server lists of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SIZE = re.compile(r"(?<![\w.])(?:(\d+)x)?e?(\d+(?:\.\d+)?)\s*(b|m)(?![a-z0-9])", re.IGNORECASE)
"""`1.5b`, `30B` of `30b-a3b`, `e4b`, `270m`, `8x7b`; not the `4bit` of a quantization."""


def parameters_by_name(name: str) -> float | None:
    """Return the billions of parameters that a model's name tells; of a mixture of experts all of them."""
    found = _SIZE.findall(name.replace("_", "-"))
    sizes = [int(times or 1) * float(size) / (1000 if unit in "mM" else 1) for times, size, unit in found]
    return max(sizes, default=None)


def read_parameters(row: Mapping[str, Any]) -> float | None:
    """Return the billions of parameters that a server lists of a model: llama.cpp in `meta`, Ollama in `details`."""
    meta, details = row.get("meta"), row.get("details")
    count = meta.get("n_params") if isinstance(meta, Mapping) else None
    if isinstance(count, int) and not isinstance(count, bool) and count > 0:
        return count / 1e9
    size = details.get("parameter_size") if isinstance(details, Mapping) else None
    return parameters_by_name(size) if isinstance(size, str) else None
