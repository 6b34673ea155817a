"""Reads what a run of trials wrote: claims of processes with untrusted code in them; other forms are passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from core.trials import How, Outcome
from sandbox.answer import Trial
from sandbox.shaping import Names


def rows(trial: Trial | None) -> Iterator[list[Any]]:
    """The lines that are lists beginning with a word."""
    for line in trial.lines if trial else ():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if type(row) is list and row and type(row[0]) is str:
            yield row


def outcome(row: list[Any], names: Names) -> tuple[int, Outcome] | None:
    """The number of a candidate and how it did, from a line that tells of one."""
    try:
        word, number, how, passed, trouble = row
        known = How(how)
    except (ValueError, TypeError):
        return None
    if word != "tried" or type(number) is not int or type(passed) is not int or type(trouble) is not str:
        return None
    return number, Outcome(how=known, passed=passed, trouble=names.text(trouble))
