"""Labels that set options of a task, such as `nightshift:priority-2`, `nightshift:budget-1` and `nightshift:review`.

A label has the form `<label>:<name>` or `<label>:<name>-<value>`; forges with scoped labels use two colons. Everybody
who may label issues can set these options. Therefore labels set only the properties, limits and reviewers of a task.
They set nothing that relaxes the acceptance of code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_PART = re.compile(r"(?P<no>no-)?(?P<name>[a-z_]+?)(?:-(?P<value>[\w./-]+))?")
_SWITCHES = frozenset({"review", "audit", "clarify"})
_FIELDS: Mapping[str, Callable[[str], Any]] = {
    "priority": int, "language": str, "kind": str, "explore": str,
}  # fmt: skip
_LIMITS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "budget": ("cost_usd", float), "tokens": ("tokens", int), "calls": ("model_calls", int),
    "iterations": ("iterations", int), "attempts": ("attempts", int), "seconds": ("wall_s", float),
}  # fmt: skip
NAMES = (*_FIELDS, *_LIMITS, *sorted(_SWITCHES))


def read(labels: Iterable[str], label: str) -> tuple[dict[str, Any], list[str]]:
    """Return the options as fields for `core.tasks.submission.parse_spec`, and the faults of labels as sentences."""
    fields: dict[str, Any] = {}
    faults: list[str] = []
    for each in labels:
        head, colon, rest = each.partition(":")
        if not colon or head.strip().lower() != label.lower():
            continue
        text = rest.strip(": ")
        try:
            _read(text, fields)
        except ValueError as error:
            faults.append(f"the label {each!r} is invalid: {error}")
    return fields, faults


def _read(text: str, fields: dict[str, Any]) -> None:
    match = _PART.fullmatch(text)
    name, value, no = (match["name"], match["value"], bool(match["no"])) if match else ("", None, False)
    if name in _SWITCHES and value is None:
        fields[name] = not no
    elif name in _FIELDS and value is not None and not no:
        fields[name] = _value(_FIELDS[name], value)
    elif name in _LIMITS and value is not None and not no:
        field, kind = _LIMITS[name]
        fields.setdefault("limits", {})[field] = _value(kind, value)
    else:
        raise ValueError(f"use one of {', '.join(NAMES)}, such as priority-2, budget-1.5, review, no-review")


def _value(kind: Callable[[str], Any], text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
