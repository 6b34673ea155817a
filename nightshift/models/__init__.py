"""Backends for models: one module per vendor or engine.

Each backend is registered as an entry point, by this package or by another one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from nightshift.core.built_in import BUILT_IN
from nightshift.core.errors import ConfigError

if TYPE_CHECKING:
    from nightshift.models.base import BaseModelHandler

GROUP = "nightshift.backends"
"""Entry point group. Maps a backend's short name to `module:Class`."""
FIRST = ("openai", "anthropic", "gemini", "acp", "ollama", "gpt4all", "llama_cpp")
"""The order in which `MODEL_TYPE=auto` asks the backends. Backends with the best answers come first, and backends that
are not listed follow, sorted by name. The built-in engine is always last, because it can do the least. Before this
order applies, the gateway may give the engine a short first try (`BackendPool.precheck`).
"""


@cache
def backends() -> Mapping[str, EntryPoint]:
    """Return the installed backends by short name, in the order of `MODEL_TYPE=auto`.

    Raises:
        ConfigError: no backend is found, because this Nightshift is not installed in the running Python.
    """
    points = {point.name: point for point in entry_points(group=GROUP)}
    if not points:
        raise ConfigError([f"no backend is installed in {sys.prefix}: type `make setup`, or `pip install -e .`"])
    ranks = {name: rank for rank, name in enumerate(FIRST)}
    order = sorted(points, key=lambda name: (name == BUILT_IN, ranks.get(name, len(FIRST)), name))
    return {name: points[name] for name in order}


def backend_class(name: str) -> type[BaseModelHandler]:
    """Import the backend class of a short name.

    Raises:
        ConfigError: there is no backend of that name, or it cannot be loaded.
    """
    points = backends()
    if name not in points:
        raise ConfigError(
            [f"model_type (MODEL_TYPE): unknown backend {name!r}; choose one of auto, {', '.join(points)}"]
        )
    try:
        backend: type[BaseModelHandler] = points[name].load()
    except (ImportError, AttributeError) as error:
        text = f"model_type (MODEL_TYPE): {name} ({points[name].value}) cannot be loaded: {error}"
        raise ConfigError([text]) from error
    return backend
