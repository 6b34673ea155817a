"""How much is reported of what is wrong with an input: so many faults, each of so many characters.

An input may hold a fault in every few of its bytes, and an answer that names them all is many times as large as the
input. All ways in report by this rule: the API, the command line and tasks.yaml.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

MOST = 50
"""So many faults are reported; of the rest their number is."""
MOST_NAMED = 10
NAME_CHARS = 120
WHY_CHARS = 600


def limit_faults(fields: Mapping[str, str]) -> dict[str, str]:
    """The first faults by their names, each cut to its length."""
    return {cut(name, NAME_CHARS): cut(why, WHY_CHARS) for name, why in islice(fields.items(), MOST)}


def cut(text: str, most: int) -> str:
    """The text, or its beginning where it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def and_more(left_out: int) -> str:
    """Return the words that follow the faults that are reported; empty where none was left out."""
    return f"and {left_out:,} more" if left_out else ""


def name_first(names: Iterable[object], most: int = MOST_NAMED, between: str = ", ") -> str:
    """Write the first of some names, each cut to its length, and how many more there are."""
    texts = [str(name) for name in names]
    shown = between.join(cut(text, NAME_CHARS) for text in texts[:most])
    return f"{shown} {and_more(len(texts) - most)}" if len(texts) > most else shown
