"""Conversion of values to JSON text and back.

The text is plain ASCII, because a model's reply may contain lone surrogates, which can be escaped in JSON but not
encoded as UTF-8. For the same reason pydantic is used only for reading: in writing, it would replace such characters in
keys.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_type_hints

from nightshift.core.clock import from_text, to_text
from nightshift.core.text.masking import Plain

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from nightshift.storage.db.sqlite import Row

T = TypeVar("T")

_write = json.JSONEncoder(separators=(",", ":")).encode
_names: dict[type, tuple[str, ...]] = {}
"""Field names of each dataclass; empty for a type that is not a dataclass."""
_adapters: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return pydantic's reader of a type, built on first use.

    Commands such as `nightshift status` need no reader, and importing pydantic takes time.
    """
    if kind not in _adapters:
        from pydantic import TypeAdapter  # noqa: PLC0415  an eighth of a second

        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def encode(value: object) -> str:
    """Encode a value of one of our types, or plain data, as JSON text."""
    return _write(to_json_value(value))


def encode_sparse(value: object) -> str:
    """Encode like `encode`, but leave out empty fields of our dataclasses; `decode` restores them from the defaults.

    Meant for types with many fields that are usually None or empty, in tables that are never pruned.
    """
    return _write(_without_nothing(value))


def _without_nothing(value: object) -> Plain:
    if not is_dataclass(value):
        return to_json_value(value)
    items = {field.name: _without_nothing(getattr(value, field.name)) for field in fields(value)}
    return {name: item for name, item in items.items() if item not in (None, [], {})}


def decode(kind: type[T], text: str) -> T:
    """Decode a value of type `kind`.

    Raises:
        ValueError: the text does not contain such a value.
    """
    adapter = _adapter(kind)
    try:
        return adapter.validate_json(text)
    except ValueError:  # it has a lone surrogate, is nested too deeply for pydantic, or is invalid
        try:
            return adapter.validate_python(json.loads(text))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def from_json_value(kind: type[T], value: Plain) -> T:
    """Convert JSON types to a value of type `kind`; raises ValueError if they do not contain such a value."""
    return _adapter(kind).validate_python(value)


def read_row(kind: Callable[..., T], row: Row | Mapping[str, Any], /, **read: object) -> T:
    """Make a dataclass from a row whose columns have the names of its fields.

    Columns of times, booleans and members of enumerations are converted. `read` has the fields that are already
    converted, or that have no column.
    """
    cells = ((name, row[name], convert) for name, convert in _converters(kind).items() if name not in read)
    values = {name: cell if convert is None or cell is None else convert(cell) for name, cell, convert in cells}
    return kind(**values, **read)


@cache
def _converters(kind: Any) -> Mapping[str, Callable[[Any], object] | None]:
    hints = get_type_hints(kind)
    return {field.name: _converter(hints[field.name]) for field in fields(kind)}


def _converter(hint: Any) -> Callable[[Any], object] | None:
    members = get_args(hint)
    if len(members) == 2 and NoneType in members:
        hint = next(member for member in members if member is not NoneType)
    if hint is datetime:
        return from_text
    return hint if isinstance(hint, type) and issubclass(hint, bool | Enum) else None


def spec_digest(task_id: int, text: str) -> str:
    """Return a SHA-256 by which it can later be proved that a specification was submitted with this task id."""
    return hashlib.sha256(f"{task_id} {text}".encode("utf-8", "surrogatepass")).hexdigest()


def storable(text: str) -> str:
    """Escape the characters that cannot be encoded as UTF-8, because SQLite cannot store them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def like(text: str) -> str:
    r"""Return a LIKE pattern (with the escape character `\`) for texts that contain this text."""
    escaped = storable(text).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def to_json_value(value: object) -> Plain:
    """Convert a value to JSON types; a value of any other type becomes its string."""
    kind = type(value)
    if value is None or kind is bool or kind is int:
        return cast("Plain", value)
    if isinstance(value, Enum):
        return to_json_value(value.value)
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json_value(item) for item in value]
    if (names := _names.get(kind)) is None:
        names = _names[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
    if not names:
        return to_json_value(str(value))
    values = ((name, getattr(value, name)) for name in names)
    return {name: None if item is None else to_json_value(item) for name, item in values}
