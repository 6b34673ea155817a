"""How the two sides of a failed comparison differ, in words: what is left of two values once the values are gone.

`assert [1, 2] == [1, 2, 3]` and `assert ['a'] == ['a', 'b']` are one mistake, `assert 'Ann' == 'ann'` is another, and
with placeholders alone all three look alike. So the sides are read as literals (never evaluated), and the signature
says “the last items are missing”, or that only the letter case differs.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Sequence

MAX_LINE = 2000
DIFFERS = "differs: "
_SAYS = re.compile(
    r"\bassert (?P<got>.+?) (?:==|is) (?P<wanted>.+)$"
    r"|strictly equal:? (?P<got_js>.+?) !== (?P<wanted_js>.+)$"
    r"|\bexpected (?P<got_chai>.+?) to (?:deeply |strictly |loosely )?(?:equal|be) (?P<wanted_chai>.+)$"
)
_NUMBER = (int, float)
_NAMES = {"null": "None", "undefined": "None", "true": "True", "false": "False"}


def relation(line: str) -> str:
    """How the sides of the comparison in a line differ, beginning with “differs:”; empty where nothing can be told."""
    # Single spaces, or the pattern would try each of many as the end of a side.
    found = _SAYS.search(" ".join(line.split())) if len(line) <= MAX_LINE else None
    return difference(*(side for side in found.groups() if side is not None)) if found else ""


def difference(got: str, wanted: str) -> str:
    """The same for two sides as they are written in Python or JavaScript."""
    if "nan" in (got.lower(), wanted.lower()):
        return f"{DIFFERS}not a number"
    try:
        left, right = (ast.literal_eval(_NAMES.get(side, side)) for side in (got, wanted))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""
    told = _told(left, right)
    return f"{DIFFERS}{told}" if told else ""


def _told(got: object, wanted: object) -> str:
    if got is None or wanted is None:
        return "nothing instead of a value" if got is None else "a value instead of nothing"
    if isinstance(got, bool) or isinstance(wanted, bool):
        return "true and false" if isinstance(got, bool) and isinstance(wanted, bool) else _types(got, wanted)
    if isinstance(got, _NUMBER) and isinstance(wanted, _NUMBER):
        return _numbers(got, wanted)
    if type(got) is not type(wanted):
        return _types(got, wanted)
    if isinstance(got, str) and isinstance(wanted, str):
        return _texts(got, wanted)
    if isinstance(got, list | tuple) and isinstance(wanted, list | tuple):
        return _sequences(got, wanted)
    if isinstance(got, dict | set) and isinstance(wanted, dict | set):
        return _keys(set(got), set(wanted))
    return ""


def _types(got: object, wanted: object) -> str:
    return f"{type(got).__name__} instead of {type(wanted).__name__}"


def _numbers(got: float, wanted: float) -> str:
    if math.isclose(got, wanted, rel_tol=1e-9):
        # Floats that were told with more digits than they have are equal again once they are read.
        return "almost equal floats, inexact"
    if got == -wanted:
        return "opposite sign"
    if abs(got - wanted) == 1:
        return "one too many" if got > wanted else "one too few"
    if abs(got - wanted) < 1:
        return "fraction cut or rounded"
    return "" if got else "zero instead of a number"


def _texts(got: str, wanted: str) -> str:
    if not got:
        return "empty text"
    if got.casefold() == wanted.casefold():
        return "letter case of text"
    if "".join(got.split()) == "".join(wanted.split()):
        return "white space in text"
    if got == wanted[::-1]:
        return "reversed text"
    return _lengths(got, wanted, "text") if got in wanted or wanted in got else ""


def _sequences(got: Sequence[object], wanted: Sequence[object]) -> str:
    if not got:
        return "empty instead of items"
    if got == wanted[::-1]:
        return "reversed order of items"
    # Items need not be hashable, nor comparable.
    mine, theirs = Counter(map(repr, got)), Counter(map(repr, wanted))
    if mine == theirs:
        return "other order of items"
    if mine.keys() == theirs.keys():
        return "repeated items" if mine > theirs else "items that repeat are missing"
    return _lengths(got, wanted, "items") if mine < theirs or mine > theirs else ""


def _lengths(got: Sequence[object], wanted: Sequence[object], what: str) -> str:
    if len(got) < len(wanted):
        return f"last {what} missing" if wanted[: len(got)] == got else f"{what} missing"
    return f"more {what} at the end than expected" if got[: len(wanted)] == wanted else f"more {what} than expected"


def _keys(got: set[object], wanted: set[object]) -> str:
    if got == wanted:
        return "other value of a key"
    return "items missing" if got < wanted else "more items than expected" if got > wanted else ""
