"""Which similarity means nothing, measured for a model that nobody has measured before.

Models differ in how alike they take two texts to be that share nothing: for one 0.1 is usual, for another 0.7. So the
floor is taken from texts that have nothing to do with each other: their mean similarity and three standard deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.embedders.base import Vectors

STRANGERS = (
    "KeyError: <value> in load_settings",
    "TypeError: unsupported operand types for +: int and str",
    "ConnectionRefusedError: nothing listens at <url>",
    "The picture is drawn upside down",
    "SyntaxError: unexpected end of file",
    "assert <n> == <n> in test_leap_years",
    "Write a function that sorts a list of words by their last letter",
    "RecursionError: maximum depth exceeded while walking the tree",
    "UnicodeDecodeError: invalid start byte at the head of the spreadsheet",
    "Add a health check to the web service",
    "the password was stored in the clear",
    "ZeroDivisionError in mean of an empty series",
    "ModuleNotFoundError: there is no such package",
    "PermissionError: the log may not be written",
    "Two threads wait for each other for ever",
    "Translate Roman numerals into decimals",
)
DEVIATIONS = 3.0
LOWEST, HIGHEST = 0.2, 0.95


def floor_of(embed: Callable[[Sequence[str]], Vectors]) -> float:
    """The cosine similarity that texts without anything in common hardly ever reach."""
    import numpy as np  # noqa: PLC0415  not needed by a daemon that remembers nothing yet

    rows = embed(STRANGERS)
    alike = (rows @ rows.T)[np.triu_indices(len(STRANGERS), k=1)]
    return float(np.clip(alike.mean() + DEVIATIONS * alike.std(), LOWEST, HIGHEST))
