"""Quick fixes, which need no search, because the message of the compiler or the interpreter nearly names them.

Texts that do not compile are fixed first, then one error after the other. All functions are pure: they make new texts
from texts and errors, and run no code. Each fix is only likely to be right, and is tried like any other candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from nightshift_engine.evaluation import ErrorInfo
from nightshift_engine.quick.fix import QuickFix, Source, sources
from nightshift_engine.quick.messages import arity, missing_imports, misspelt, misspelt_imports
from nightshift_engine.quick.syntax import syntax_fixes

__all__ = ["QuickFix", "quick_fixes"]

_Family = Callable[[str, ErrorInfo, Mapping[str, Source]], Iterator[QuickFix]]
_SYNTAX = frozenset({"SyntaxError", "IndentationError", "TabError"})
_FAMILIES: tuple[_Family, ...] = (missing_imports, misspelt_imports, arity, misspelt)


def quick_fixes(files: Mapping[str, str], errors: Sequence[tuple[str, ErrorInfo]]) -> Iterator[QuickFix]:
    """Yield changed texts of single files, the most promising first, without repeats.

    `files` maps the paths of the tree's own files to their texts. Each error is paired with the id of the test, or with
    the path, where it occurred. If a syntax error stopped the tests, or if there are no errors, only the files that do
    not compile are fixed: other errors mean nothing until every file compiles. Otherwise the fixes of different errors
    alternate, so that an error with many fixes does not delay the others.
    """
    if not errors or any(error.kind in _SYNTAX for _, error in errors):
        yield from _compiling(files)
        return
    parsed = sources(files)
    seen: set[tuple[str, str]] = set()
    for fix in _in_turn([_for_error(test, error, parsed) for test, error in _distinct(errors)]):
        if (fix.path, fix.text) not in seen:
            seen.add((fix.path, fix.text))
            yield fix


def _compiling(files: Mapping[str, str]) -> Iterator[QuickFix]:
    for path in files:
        if path.endswith(".py"):
            yield from syntax_fixes(path, files[path])


def _distinct(errors: Sequence[tuple[str, ErrorInfo]]) -> list[tuple[str, ErrorInfo]]:
    """Return one error for each message and place, because many tests fail for the same reason."""
    distinct = {(error.kind, error.message, error.frames[-1:]): (test, error) for test, error in errors[::-1]}
    return list(distinct.values())[::-1]


def _for_error(test: str, error: ErrorInfo, files: Mapping[str, Source]) -> Iterator[QuickFix]:
    for family in _FAMILIES:
        yield from family(test, error, files)


def _in_turn(streams: list[Iterator[QuickFix]]) -> Iterator[QuickFix]:
    waiting = list(streams)
    while waiting:
        for stream in list(waiting):
            fix = next(stream, None)
            if fix is None:
                waiting.remove(stream)
            else:
                yield fix
