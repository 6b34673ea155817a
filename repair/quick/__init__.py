"""Mends that need no search: what the compiler's or the interpreter's own message all but says.

Texts that are no Python come first, then one error after the other. All are pure functions from texts and errors
to new texts; nothing is run. What they yield is no more than likely, and is tried like any other candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from repair.evaluation import ErrorInfo
from repair.quick.mend import Mend, Source, sources
from repair.quick.messages import arity, missing_imports, misspelt, misspelt_imports
from repair.quick.syntax import syntax_mends

__all__ = ["Mend", "quick_mends"]

_Family = Callable[[str, ErrorInfo, Mapping[str, Source]], Iterator[Mend]]
_SYNTAX = frozenset({"SyntaxError", "IndentationError", "TabError"})
_FAMILIES: tuple[_Family, ...] = (missing_imports, misspelt_imports, arity, misspelt)


def quick_mends(files: Mapping[str, str], errors: Sequence[tuple[str, ErrorInfo]]) -> Iterator[Mend]:
    """New texts of single files, best first, each once.

    `files` are the tree's own files, path to text. The first member of an error's pair is the id of a test or a path.
    Where a text that is no Python is what the tests stumbled over, it is mended and nothing else: what they told is of
    no worth before that. Without errors every such text is mended.
    The errors take turns, so that one with many guesses does not keep the others waiting.
    """
    if not errors or any(error.kind in _SYNTAX for _, error in errors):
        yield from _compiling(files)
        return
    parsed = sources(files)
    seen: set[tuple[str, str]] = set()
    for mend in _in_turn([_for_trouble(told, error, parsed) for told, error in _distinct(errors)]):
        if (mend.path, mend.text) not in seen:
            seen.add((mend.path, mend.text))
            yield mend


def _compiling(files: Mapping[str, str]) -> Iterator[Mend]:
    for path in files:
        if path.endswith(".py"):
            yield from syntax_mends(path, files[path])


def _distinct(errors: Sequence[tuple[str, ErrorInfo]]) -> list[tuple[str, ErrorInfo]]:
    """One error of each message and place; many tests fail of the same."""
    kept = {(error.kind, error.message, error.frames[-1:]): (told, error) for told, error in errors[::-1]}
    return list(kept.values())[::-1]


def _for_trouble(told: str, error: ErrorInfo, files: Mapping[str, Source]) -> Iterator[Mend]:
    for family in _FAMILIES:
        yield from family(told, error, files)


def _in_turn(streams: list[Iterator[Mend]]) -> Iterator[Mend]:
    waiting = list(streams)
    while waiting:
        for stream in list(waiting):
            mend = next(stream, None)
            if mend is None:
                waiting.remove(stream)
            else:
                yield mend
