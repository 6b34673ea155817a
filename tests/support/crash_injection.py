"""Crash injection for the real daemon: SIGKILL just before, in the middle of, or just after a named durable point.

The fork server starts the daemon. The product's code is not changed. Instead, this module watches the three libraries
through which data outlives the process: `sqlite3` (or `pysqlite3`), `subprocess` for git, and `os` for files that
replace other files. Each such operation is a *point*. A point's name is derived from its operation, so that another run
finds the same point even if its log lines are written in other transactions:

| point | name | moments |
|---|---|---|
| a write job | `db: ` verb and table of its statements, with statuses, phases and so on | before, after COMMIT |
| a git command that may write | `git: ` and its arguments | before, sent (it has its input), after |
| a git session that moves references | `ref: ` and the references | before, sent, after |
| a file that replaces another | `file: ` and its path | before, after |

`CRASH_DIR` names a folder with two files. `orders.json` has the point and moment of the next death, and `points.log`
lists the points that were passed. New orders restart the count of passed points.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.crash_injection_git import die, generic, watch_git

_WRITES = re.compile(
    r"\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP)\b(?: OR \w+)?(?: INTO| FROM)?\s+(\w+)", re.IGNORECASE
)


class CrashInjector:
    """Reads the orders, counts the points, and decides where the process has to die."""

    def __init__(self, folder: Path) -> None:
        self._orders, self._log = folder / "orders.json", folder / "points.log"
        self._given: dict[str, Any] = {}
        self._stamp = 0
        self._passed: Counter[str] = Counter()
        self._lock = threading.Lock()

    def arrive(self, names: Sequence[str]) -> set[str]:
        """Count points that are reached together, and return the moments at which the process has to die there."""
        with self._lock:
            self._read()
            doomed = set()
            for name in names:
                self._passed[name] += 1
                if name == self._given.get("point") and self._passed[name] == self._given.get("number", 1):
                    doomed.add(str(self._given["moment"]))
            self._write([f"{self._given.get('run', '')}\t{self._passed[name]}\t{name}" for name in names])
        return doomed

    def _read(self) -> None:
        try:
            stamp = self._orders.stat().st_mtime_ns
        except FileNotFoundError:
            stamp, self._given = 0, {}
        if stamp and stamp != self._stamp:
            self._given = json.loads(self._orders.read_text())
            self._passed.clear()
        self._stamp = stamp

    def _write(self, lines: Sequence[str]) -> None:
        file = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, "".join(f"{line}\n" for line in lines).encode())
        os.close(file)


# The definitions below watch the database.


def vocabulary() -> frozenset[str]:
    """Return the values that distinguish writes to the same table.

    These are the statuses, endings, phases, outcomes, kinds of events and sources of pauses.
    """
    from nightshift.core.events import Kind
    from nightshift.core.tasks.queueing import PauseSource
    from nightshift.core.tasks.states import Ending, Outcome, Phase, Status

    return frozenset(str(word) for words in (Status, Ending, Phase, Outcome, Kind, PauseSource) for word in words)


def statement(sql: str, parameters: object, words: frozenset[str]) -> str:
    """Return the name of a statement that writes, or "" for a statement that only reads.

    The name is the verb and the table, with those parameters that are in `words`.
    """
    match = _WRITES.match(sql)
    if not match:
        return ""
    values = parameters if isinstance(parameters, (tuple, list)) else ()
    states = [str(value) for value in values if isinstance(value, str) and value in words]
    return f"{match[1].lower()} {match[2]}" + (f"[{','.join(states)}]" if states else "")


class Journal:
    """The write jobs of the open transaction. Each job is a list of the names of its statements."""

    def __init__(self) -> None:
        self._words, self.jobs = vocabulary(), list[list[str]]()

    def note(self, sql: str, parameters: object = ()) -> None:
        """Record a statement before it runs."""
        if sql.startswith("BEGIN"):
            self.jobs = []
        elif sql == "SAVEPOINT job":
            self.jobs.append([])
        elif sql == "ROLLBACK TO job":
            self.jobs[-1].clear()
        elif self.jobs and (name := statement(sql, parameters, self._words)) and name not in self.jobs[-1]:
            self.jobs[-1].append(name)

    def points(self) -> list[str]:
        """Return the point names of the jobs that wrote something, and clear the journal."""
        jobs, self.jobs = self.jobs, []
        return [f"db: {'; '.join(job)}" for job in jobs if job]


def watch_connection(base: type, injector: CrashInjector) -> type:
    """Return a connection class that tells the injector of each commit with writes, and dies if ordered."""

    class Watched(base):  # type: ignore[misc]  # the class comes from whichever SQLite is installed
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            self._journal = Journal()

        def execute(self, sql: str, *parameters: Any) -> Any:
            if sql == "COMMIT" and (points := self._journal.points()):
                return self._commit(points)
            self._journal.note(sql, *parameters)
            return super().execute(sql, *parameters)

        def executemany(self, sql: str, rows: Any) -> Any:
            self._journal.note(sql)
            return super().executemany(sql, rows)

        def _commit(self, points: list[str]) -> Any:
            doomed = injector.arrive(points)
            if "before" in doomed:
                die()
            done = super().execute("COMMIT")
            if "after" in doomed:
                die()
            return done

    return Watched


# The functions below watch files that replace other files.


def watch_rename(real: Callable[..., None], home: Path, injector: CrashInjector) -> Callable[..., None]:
    """Wrap `os.replace` or `os.rename` to report each file that it moves into the home, and to die if ordered."""

    @functools.wraps(real)
    def rename(old: Any, new: Any, **named: Any) -> None:
        path = Path(os.fsdecode(new))
        # A rename into a missing folder fails, and becomes durable only when it is tried again.
        ours = path.is_absolute() and path.is_relative_to(home) and path.parent.is_dir()
        doomed = injector.arrive([generic(f"file: {path.relative_to(home)}")]) if ours else set()
        if "before" in doomed:
            die()
        real(old, new, **named)
        if "after" in doomed:
            die()

    return rename


def _libraries() -> Iterator[Any]:
    yield importlib.import_module("sqlite3")
    try:
        yield importlib.import_module("pysqlite3")
    except ImportError:
        return


def install(folder: Path, home: Path) -> None:
    """Wrap the watched functions and classes of all libraries."""
    injector = CrashInjector(folder)
    for library in _libraries():
        factory = watch_connection(library.Connection, injector)
        library.connect = functools.partial(library.connect, factory=factory)
    watch_git(injector)
    for name in ("replace", "rename"):
        setattr(os, name, watch_rename(getattr(os, name), home, injector))


def run() -> int:
    """Run the daemon with its libraries watched, and return its exit code."""
    install(Path(os.environ["CRASH_DIR"]), Path(os.environ["NIGHTSHIFT_HOME"]))
    from nightshift.app import main

    return main.main()
