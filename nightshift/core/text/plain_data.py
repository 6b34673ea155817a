"""Limits the nesting and the number of values in data that people send, and parses JSON within these limits.

Input is stored as JSON, parsed again elsewhere and processed by recursive functions, each of which fails at some depth.
So input that is nested too deeply is rejected at once, with the field's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nightshift.core.text.faults import cut

MAX_DEPTH = 50
"""Maximum number of lists and mappings that may be nested in one value; each field of a task is a value."""
MAX_VALUES = 300_000
"""Maximum number of values in one submission: numbers, texts, lists and mappings, whatever their length."""
TOO_DEEP = f"nested more than {MAX_DEPTH} deep; make it flatter"

_AROUND = 10
"""Maximum number of levels around the value of a field: for example `cases`, a case and `args` surround a value."""
_NAME_CHARS = 80
# A string without its closing quote matches up to the end of the text. Otherwise the search for the closing quote would
# begin again at each quote in it.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)


class BadData(ValueError):
    """Data that is rejected. `field` is the top-level name that contains the fault, if any."""

    def __init__(self, why: str, field: str = "") -> None:
        self.field = field
        super().__init__(why)


def read_json(text: str, *, most_values: int = MAX_VALUES) -> Any:
    """Parse a JSON text. The limits are checked before parsing, because parsing costs many times as much.

    Raises:
        BadData: The text is nested too deeply, or has too many values.
        ValueError: The text is not JSON, or repeats a name in one mapping.
    """
    _look_through(text, most_values)
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)


def too_deep(value: object) -> bool:
    """Return True if a value is nested more deeply than `MAX_DEPTH`. The value may share parts, but must be finite."""
    return _measure(value, MAX_VALUES)[0] > MAX_DEPTH


def check(data: Mapping[str, object]) -> dict[str, str]:
    """Map each field that is nested too deeply or too large to its fault; empty if there are none."""
    faults, left = dict[str, str](), MAX_VALUES - len(data)
    for name, value in data.items() if left >= 0 else ():
        depth, count = _measure(value, left)
        left -= count
        if left < 0:
            break
        if depth > MAX_DEPTH:
            faults[name] = TOO_DEEP
    return faults if left >= 0 else {"task": f"too much: more than {MAX_VALUES:,} values"}


def shallow(value: Any, most: int = MAX_DEPTH) -> Any:
    """Return the value cut off below a depth; a note replaces everything deeper."""
    if isinstance(value, list | tuple | dict) and not most:
        return f"… (nested more than {MAX_DEPTH} deep; the rest is not shown)"
    if isinstance(value, Mapping):
        return {name: shallow(item, most - 1) for name, item in value.items()}
    return [shallow(item, most - 1) for item in value] if isinstance(value, list | tuple) else value


def _measure(value: object, most: int) -> tuple[int, int]:
    """Return the depth of a value and the number of values in it.

    Counting stops above `most`, or at too great a depth.
    """
    deepest, count, waiting = 0, 0, [(value, 1)]
    while waiting and count <= most and deepest <= MAX_DEPTH:
        inner, depth = waiting.pop()
        if not isinstance(inner, list | tuple | set | frozenset | Mapping):
            continue
        deepest, count = max(deepest, depth), count + len(inner)
        if count <= most:
            items = inner.values() if isinstance(inner, Mapping) else inner
            waiting.extend((item, depth + 1) for item in items)
    return deepest, count


def _look_through(text: str, most_values: int) -> None:
    depth, count, texts, last = 0, 1, 0, ""
    has_names = text.lstrip()[:1] == "{"
    for token in _TOKEN.finditer(text):
        sign = text[token.start()]
        if sign == '"':
            texts += 1
            if depth == 1 and has_names:
                last = token[0] if token.end() - token.start() < _NAME_CHARS else ""
        elif sign in "]}":
            depth -= 1
        else:
            count += 1
            depth += sign != ","
        if depth > MAX_DEPTH + _AROUND:
            raise BadData(TOO_DEEP, last.strip('"'))
        if count > most_values or texts > 2 * most_values:  # In a mapping, each value has a name, which is a text too
            raise BadData(f"contains more than {most_values:,} values; send less at a time")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a mapping, and reject a repeated name, because one of its values would be lost silently."""
    values = dict[str, Any]()
    for name, value in pairs:
        if name in values:
            raise ValueError(f"{cut(name, _NAME_CHARS)!r} is given twice")
        values[name] = value
    return values


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
