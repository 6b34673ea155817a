"""A cache of base runs: runs of a suite without the change.

The suite runs once for each combination of commit, command and environment. Losing the file of the cache is harmless,
and an unreadable file is ignored.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from nightshift.storage.db.codec import from_json_value
from nightshift.storage.files.whole import write_whole
from nightshift.verdict.run import NativeRun

log = logging.getLogger(__name__)

MOST, MOST_STORED, MOST_TESTS = 64, 32, 2000
"""Maximum number of runs cached in memory, of runs stored in the file, and of tests in a stored run.

A run with more than `MOST_TESTS` tests is not stored in the file, so it is repeated after a restart.
"""
_VERSION = 4


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
            await asyncio.to_thread(_write, self._path, {"version": _VERSION, "runs": rows})


def _read(path: Path) -> Iterable[tuple[str, NativeRun]]:
    try:
        stored = from_json_value(_Kept, json.loads(path.read_bytes()))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        log.info("earlier suite results in %s cannot be read: %s", path, type(error).__name__)
        return ()
    return stored.runs.items() if stored.version == _VERSION else ()


def _write(path: Path, content: Mapping[str, object]) -> None:
    """Write the file. If writing fails, only a log line says so."""
    try:
        write_whole(path, json.dumps(content, separators=(",", ":")), mode=0o600)
    except OSError as error:
        log.info("cannot store earlier suite results: %s", error)
