"""Makes a verdict safe wherever it is used: in logs, prompts, stored steps, notes, pages and terminals.

The report of a run comes from a process in which untrusted code ran. It is cleaned once, by this module, when the
verdict is made. First secrets are masked, then characters that a terminal or a reader would interpret become visible
escapes, then the text is shortened. HTML is escaped later, when it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from nightshift.core.tasks.verdicts import Trial, Verdict
from nightshift.core.text.masking import printable

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|[\x00-\x08\x0e-\x1a]"
)
"""Matches terminal control sequences, and other invisible characters."""
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
"""Matches colours of a terminal. They are dropped: 600 coloured dots would hide the failure below them."""

Mask = Callable[[str], str]
_Report = TypeVar("_Report", Verdict, Trial)

MAX_LINE, MAX_TEXT = 500, 6000
_TEXTS = frozenset({"message", "excerpt", "output"})
# These fields are not cleaned. Their paths are compared with the paths of the change, which were checked when the
# change was made. Their digests and versions are our own.
_EXACT = frozenset({"dropped", "suites", "tree", "sandbox"})


def clean(report: _Report, mask: Mask) -> _Report:
    """Return the report with each text masked, printable and shortened; only messages and output keep lines."""
    return replace(report, **_fields(report, mask))


def _fields(value: Any, mask: Mask) -> dict[str, Any]:
    pairs = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: _value(content, mask, lines=name in _TEXTS) for name, content in pairs if name not in _EXACT}


def _value(value: Any, mask: Mask, *, lines: bool) -> Any:
    if isinstance(value, str) and not isinstance(value, Enum):
        return (text if lines else line)(_COLOURS.sub("", value), mask)
    if isinstance(value, tuple):
        return tuple(_value(item, mask, lines=lines) for item in value)
    if isinstance(value, Mapping):
        return {line(str(key), mask): _value(item, mask, lines=lines) for key, item in value.items()}
    return replace(value, **_fields(value, mask)) if is_dataclass(value) and not isinstance(value, type) else value


def print_output(raw: str, mask: Mask) -> str:
    """Return a program's output as a terminal would finally show it, without colours and overwritten progress lines."""
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in _ESCAPES.sub("", raw).split("\n"))
    shown = mask("\n".join(lines))
    return printable(shown, max_chars=len(shown), max_line=len(shown))


def text(raw: str, mask: Mask) -> str:
    """Clean a text that may have several lines."""
    return printable(mask(raw), max_chars=MAX_TEXT)


def line(raw: str, mask: Mask) -> str:
    """Clean a text, and make it one line."""
    shown = printable(mask(raw), max_chars=MAX_LINE).replace("\n", "\\n").replace("\t", " ")
    return shown if len(shown) <= MAX_LINE else f"{shown[: MAX_LINE - 1]}…"
