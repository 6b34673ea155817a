"""What the standard library offers by well-known names, from the modules' own listings."""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from types import ModuleType

_OFFERING = (
    "collections", "functools", "itertools", "dataclasses", "pathlib", "typing", "math", "datetime", "enum", "abc",
    "heapq", "bisect", "re", "json", "random", "statistics", "string", "operator", "copy", "decimal", "fractions",
    "contextlib", "time", "os", "sys", "io", "types", "textwrap", "collections.abc", "shutil", "tempfile", "logging",
    "threading", "queue", "uuid", "hashlib", "csv", "argparse", "subprocess", "concurrent.futures", "asyncio",
)  # fmt: skip
"""Modules that do nothing when they are imported. Of two that offer a name the first is meant."""
_SHY = frozenset(
    {"os", "sys", "time", "operator", "shutil", "random", "string", "re", "types", "subprocess", "asyncio"}
)
"""Modules that are mostly used by their own name; they offer a name only where no other does."""


def is_standard(module: str) -> bool:
    """Tell whether a module is of the standard library and one that a program imports."""
    return module in sys.stdlib_module_names and not module.startswith("_") and module not in {"this", "antigravity"}


def module_names() -> list[str]:
    """The modules of the standard library."""
    return sorted(name for name in sys.stdlib_module_names if is_standard(name))


@lru_cache(maxsize=64)
def listing(module: str) -> tuple[str, ...]:
    """The public names that one of the well-known modules offers, its own modules left out; empty for any other."""
    if module not in _OFFERING:
        return ()
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or [name for name in dir(loaded) if not name.startswith("_")]
    return tuple(name for name in names if not isinstance(getattr(loaded, name, None), ModuleType))


@lru_cache(maxsize=512)
def modules_of(name: str) -> tuple[str, ...]:
    """The well-known modules that offer a name, the likeliest first."""
    found = [module for module in _OFFERING if name in listing(module)]
    return tuple(sorted(found, key=lambda module: module in _SHY))
