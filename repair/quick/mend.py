"""A mend that needs no search, and how a text is asked whether it is Python."""

from __future__ import annotations

import warnings
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """A new text for the file at `path`. `kind` is a stable short name, `note` says in a few words what was done."""

    path: str
    text: str
    kind: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Where a text stops being Python: `line` from 1, `column` from 0; with the message of the compiler."""

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A changed text that may be Python; the cheapest guess is tried first."""

    cost: float
    text: str
    note: str


def fault_of(text: str) -> Fault | None:
    """What keeps a text from being compiled; None for Python. Nothing is run.

    Compiled and not only parsed: a `return` that slipped out of its function parses.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<text>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return Fault(line=error.lineno or 1, column=max((error.offset or 1) - 1, 0), message=error.msg or "")
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return Fault(line=1, column=0, message=str(error))
    return None
