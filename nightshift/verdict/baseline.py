"""The baseline: which tests of a tree do not pass as it is, before anything is changed.

It is taken where a test of the base failed with a change, of the files of such tests alone, and kept for each file: the
next change to the same tree finds it. Only what a run that came to its end says of a file is kept; what was seen to
fail in one that was cut off counts for the verdict at hand.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.tasks.verdicts import Result
from nightshift.verdict import kept

MOST, MOST_TESTS = 2000, 500
"""So many files are remembered, and of a file so many tests; one with more is looked at again."""
_VERSION, _WHAT = 2, "how suites ended before"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The file: the key of a test file to its tests that did not pass."""

    version: int
    files: Mapping[str, Mapping[str, Result]]


class Baselines:
    """How the tests of trees ended, by a key for tree, surroundings and test file; in a file, where one is named.

    Args:
        path: of the file; without one what is learned is forgotten with the process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known = OrderedDict[str, Mapping[str, Result]](_read(path) if path else ())

    def get(self, key: str) -> Mapping[str, Result] | None:
        """The tests of a file that did not pass; None where it is not known how they ended."""
        if key in self._known:
            self._known.move_to_end(key)
        return self._known.get(key)

    async def learn(self, files: Mapping[str, Mapping[str, Result]]) -> None:
        """Note how the tests of files ended, by the keys of these: those that did not pass."""
        self._known.update({key: tests for key, tests in files.items() if len(tests) <= MOST_TESTS})
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        if self._path:
            rows = {key: dict(tests) for key, tests in self._known.items()}
            await asyncio.to_thread(kept.write, self._path, {"version": _VERSION, "files": rows}, _WHAT)


def _read(path: Path) -> Iterable[tuple[str, Mapping[str, Result]]]:
    found = kept.read(path, _Kept, _WHAT)
    return found.files.items() if found and found.version == _VERSION else ()
