"""The lines that frame a SEARCH/REPLACE section: five to nine equal signs or angle brackets."""

from __future__ import annotations

import re

_SEARCH = re.compile(r"^[ \t]{0,8}(<{5,9})[ \t]*(?:SEARCH|ORIGINAL)\b[ \t]*:?(.{0,400})$", re.IGNORECASE)
_DIVIDER = re.compile(r"^[ \t]{0,8}(={5,9})[ \t\r]*$")
_END = re.compile(r"^[ \t]{0,8}(>{5,9})[ \t]*(?:REPLACE|UPDATED)[ \t\r]*$", re.IGNORECASE)


def is_search(line: str) -> bool:
    """Tell whether the line opens a section."""
    return "<<<<<" in line[:16] and _SEARCH.match(line) is not None


def is_end(line: str) -> bool:
    """Tell whether the line ends a section."""
    return ">>>>>" in line[:16] and _END.match(line) is not None


def search_mark(line: str) -> tuple[int, str]:
    """The width of an opening marker, and what stands behind it (a path, in some dialects)."""
    found = _SEARCH.match(line)
    assert found is not None
    return len(found.group(1)), found.group(2).strip()


def divider_width(line: str) -> int:
    """The width of a divider, 0 for any other line."""
    found = _DIVIDER.match(line) if "=====" in line[:16] else None
    return len(found.group(1)) if found else 0
