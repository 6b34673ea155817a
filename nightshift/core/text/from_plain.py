"""Converts plain JSON data to our types, for callers that cannot wait for pydantic to load.

Only the types that `core.status` consists of are supported, and only data that was written from such values. Data from
people and models is parsed with pydantic instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from nightshift.core.clock import from_text

T = TypeVar("T")


def from_plain(kind: type[T], value: object) -> T:
    """Convert plain data to a value of type `kind`.

    Unknown fields are ignored, because a newer version may have added them.

    Raises:
        ValueError: The data does not fit the type.
    """
    return cast("T", _convert(kind, value))


def _convert(kind: Any, value: object) -> object:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return None if value is None else _convert(next(each for each in inner if each is not NoneType), value)
    if origin is tuple and isinstance(value, list):
        return tuple(_convert(inner[0], item) for item in value)
    if origin is Mapping and isinstance(value, dict):
        return {_convert(inner[0], name): _convert(inner[1], item) for name, item in value.items()}
    if is_dataclass(kind) and isinstance(value, dict):
        return _dataclass(cast("type", kind), value)
    return _single(kind, value)


def _single(kind: Any, value: object) -> object:
    if kind is type(value):
        return value
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(value, str) and kind is datetime:
        return from_text(value)
    if isinstance(value, str) and isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    raise ValueError(f"{type(value).__name__} where {kind} was expected")


def _dataclass(kind: type, value: Mapping[str, object]) -> object:
    hints = get_type_hints(kind)
    missing = [each.name for each in fields(kind) if each.name not in value and _is_required(each)]
    if missing:
        raise ValueError(f"{kind.__name__} without {', '.join(missing)}")
    return kind(**{name: _convert(hint, value[name]) for name, hint in hints.items() if name in value})


def _is_required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING
