"""Reads what a run of trials wrote: claims of processes with untrusted code in them; other forms are passed over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from core.trials import Answered, How, Outcome, Trouble
from verdict.answer import Trial
from verdict.shaping import Names

MISSING = Answered(how=How.CRASHED)


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


def trouble(details: Any, names: Names, *, tests: bool) -> Trouble:
    """What something failed of, with the frames of the tree's own files, those of tests only if so told.

    Raises:
        ValueError, TypeError, KeyError: it has another form.
    """
    frames = [(str(path), int(line), str(function)) for path, line, function in details["frames"]]
    own = [frame for frame in frames if not frame[0].startswith(("/", "<")) and (tests or not names.file(frame[0]))]
    return Trouble(
        kind=names.text(str(details["kind"])),
        message=names.text(str(details["message"])),
        frames=tuple((names.path(path), line, names.text(function)) for path, line, function in own),
    )


def answers(found: Sequence[list[Any]], variants: int, calls: int) -> list[list[Answered]]:
    """For each variant its answers, as far as they came."""
    table = [[MISSING] * calls for _ in range(variants)]
    for row in found:
        try:
            word, variant, first, said = row
            made = [Answered(how=How(how), value=value, raised=tuple(map(str, raised))) for how, value, raised in said]
        except (ValueError, TypeError):
            continue
        if word == "answered" and type(variant) is type(first) is int and 0 <= variant < variants and first >= 0:
            table[variant][first : first + len(made)] = made[: max(0, calls - first)]
    return table
