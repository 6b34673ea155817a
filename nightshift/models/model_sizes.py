"""How large models are, in billions of parameters, as far as their names tell."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(?<![\d.a-z])(?:(\d+)x)?(\d+(?:\.\d+)?)(b|m)(?![a-z\d])", re.IGNORECASE)


def parameters_by_name(name: str) -> float | None:
    """The parameters of a model in billions, as its name says: `qwen3.6:35b-a3b` has 35; None where it does not."""
    sizes = [
        int(times or 1) * float(count) / (1000 if unit in "mM" else 1) for times, count, unit in _SIZE.findall(name)
    ]
    return max(sizes, default=None)
