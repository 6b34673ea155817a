"""A cache of base runs: runs of a suite without the change.

The suite runs once for each combination of commit, command and environment.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from nightshift.verdict import kept
from nightshift.verdict.run import NativeRun

MOST, MOST_STORED, MOST_TESTS = 64, 32, 2000
"""Maximum number of runs cached in memory, of runs stored in the file, and of tests in a stored run.

A run with more than `MOST_TESTS` tests is not stored in the file, so it is repeated after a restart.
"""
_VERSION, _WHAT = 4, "earlier suite results"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The content of the cache file: the base runs by key."""

    version: int
    runs: Mapping[str, NativeRun]


class Baselines:
    """A cache of base runs. A run's key identifies its tree, command and environment.

    Args:
        path: the file that stores the runs; without a file, the cache is lost when the process ends.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._runs = OrderedDict[str, NativeRun](_read(path) if path else ())

    def get(self, key: str) -> NativeRun | None:
        """Return the cached run of a key, or None if there is none."""
        if key in self._runs:
            self._runs.move_to_end(key)
        return self._runs.get(key)

    async def learn(self, key: str, run: NativeRun) -> None:
        """Add a run to the cache, and write the cache file if there is one."""
        self._runs[key] = run
        while len(self._runs) > MOST:
            self._runs.popitem(last=False)
        if self._path:
            stored = list(self._runs.items())[-MOST_STORED:]
            rows = {key: asdict(each) for key, each in stored if len(each.tests or ()) <= MOST_TESTS}
            await asyncio.to_thread(kept.write, self._path, {"version": _VERSION, "runs": rows}, _WHAT)


def _read(path: Path) -> Iterable[tuple[str, NativeRun]]:
    stored = kept.read(path, _Kept, _WHAT)
    return stored.runs.items() if stored and stored.version == _VERSION else ()
