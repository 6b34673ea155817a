"""Limits for reports about faults of an input: the number of faults, and the characters of each.

An input may have a fault every few bytes, so a list of all faults could be many times as large as the input. The API,
the command line and tasks.yaml all use these limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

MOST = 50
"""Maximum number of faults that are reported; the others are only counted."""
MOST_NAMED = 10
NAME_CHARS = 120
WHY_CHARS = 600


def limit_faults(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the first faults by their names, each shortened."""
    return {cut(name, NAME_CHARS): cut(why, WHY_CHARS) for name, why in islice(fields.items(), MOST)}


def cut(text: str, most: int) -> str:
    """Return the text, shortened to its first `most` characters if it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def and_more(left_out: int) -> str:
    """Return a text to append to the reported faults, with the number of omitted faults; empty if none was omitted."""
    return f"and {left_out:,} more" if left_out else ""


def name_first(names: Iterable[object], most: int = MOST_NAMED, between: str = ", ") -> str:
    """List the first `most` names, each shortened, and the number of the remaining names."""
    texts = [str(name) for name in names]
    shown = between.join(cut(text, NAME_CHARS) for text in texts[:most])
    return f"{shown} {and_more(len(texts) - most)}" if len(texts) > most else shown
