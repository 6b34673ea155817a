"""Values as JSON text and back, through pydantic's knowledge of our dataclasses.

The text is plain ASCII: a model's reply may hold lone surrogates, which have no UTF-8 form but an escape in JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from core.clock import to_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]

_adapters: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Build pydantic's reader and writer of a type when it is first needed: `cli.py --status` needs none."""
    if kind not in _adapters:
        from pydantic import TypeAdapter  # noqa: PLC0415  an eighth of a second

        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def encode(value: object) -> str:
    """Write a value of one of our types."""
    tree = _adapter(type(value)).dump_python(value, mode="json", fallback=str)
    return json.dumps(tree, separators=(",", ":"))


def decode(kind: type[T], text: str) -> T:
    """Read a value of type `kind`.

    Raises:
        ValueError: the text does not hold one.
    """
    return _adapter(kind).validate_python(json.loads(text))


def storable(text: str) -> str:
    """Replace what has no UTF-8 form by its escape; SQLite stores no other text."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def plain(value: object, clean: Callable[[str], str] = str) -> Plain:
    """Small data of any kind as JSON knows it, each text passed through `clean`; unknown types become their text."""
    if isinstance(value, Enum):
        return plain(value.value, clean)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): plain(item, clean) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, clean) for item in value]
    return clean(str(value))
