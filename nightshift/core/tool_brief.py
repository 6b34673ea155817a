"""Summarises a tool call in a few words for logs and pages, such as `read_file src/a.py 201-400`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

MAX_CHARS = 200
_FIRST = ("pattern", "path", "glob", "page", "files")
"""Arguments that distinguish calls. They come first, in this order; other arguments follow."""
_UNSAID = frozenset({"old", "new", "content", "timeout"})
"""Arguments that are omitted, because they are whole texts or unimportant."""
_SPOKEN = {"run": "command", "ask": "question", "cannot": "reason", "done": "summary"}
"""Maps each tool that is summarised by a single argument to the name of that argument."""


def brief(name: str, arguments: str) -> str:
    """Return the call's name and its distinguishing arguments, on one line.

    `arguments` is a model's JSON; invalid parts are ignored. The line is for people and must still be escaped for
    display.
    """
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        given = {}
    given = given if isinstance(given, dict) else {}
    if spoken := _word(given.get(_SPOKEN.get(name, ""))):
        return _cut(f"{name}: {spoken}")
    return _cut(" ".join(filter(None, (name, *_words(name, given)))))


def _words(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    if name == "read_file":
        yield _word(given.get("path"))
        yield _span(given.get("start"), given.get("lines"))
        return
    first = [each for each in _FIRST if each in given]
    yield from (_word(given[each]) for each in (*first, *sorted(given.keys() - {*_FIRST, *_UNSAID})))
    if name == "write_file" and "content" in given and given["content"] is None:
        yield "(removed)"


def _span(start: object, lines: object) -> str:
    """Return the requested range of lines as text, such as `201-400`, or only the first line's number."""
    first, count = _number(start), _number(lines)
    if count:
        return f"{first or 1}-{(first or 1) + count - 1}"
    return f"{first}-" if first else ""


def _number(value: object) -> int:
    """Convert a number of lines, which may be a text, to an integer; 0 for anything else."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _word(value: object) -> str:
    """Return a value as words. A list gives the words of its items; booleans, None and mappings give no words."""
    if isinstance(value, list):
        return " ".join(_word(word) for word in value[:20])
    if value is None or isinstance(value, bool | dict):
        return ""
    return " ".join(str(value)[: 4 * MAX_CHARS].split())


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"
