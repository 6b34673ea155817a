"""Stores the benchmark's data in a database of its own; `storage/db/benchmark_rows.py` has the SQL.

Results are stored by item, arm and mode. The mode is the part of an item that a model is given: `shown` with the tests
of the commit, `words` with only its statement.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TypeVar, get_origin, get_type_hints

from nightshift.core.clock import to_text
from nightshift.core.errors import BenchmarkError
from nightshift.core.tasks.commit_message import subject_of
from nightshift.core.tasks.task import Spent
from nightshift.core.text.plain_data import from_plain
from nightshift.report.benchmark.results import Arm, Item, Result
from nightshift.storage.db import benchmark_rows as rows
from nightshift.storage.db.codec import storable
from nightshift.storage.db.sqlite import Error, Row, store_error, transaction

T = TypeVar("T")


class Mode(StrEnum):
    """The part of an item that a model is given."""

    SHOWN = "shown"
    WORDS = "words"


class RunState(StrEnum):
    """The state of a run.

    A run whose process was killed still counts as running; it continues when the owner starts it again.
    """

    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A commit that passed the filters and is not validated yet. The fields mean the same as in `Item`."""

    key: str
    repo: str
    commit: str
    parent: str
    message: str
    lines: int
    files: int
    committed_at: datetime

    @property
    def subject(self) -> str:
        """The first line of the commit's message."""
        return subject_of(self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A commit that is not an item: the filter that dropped it (`report.benchmark.mining.Filter`), and why."""

    key: str
    repo: str
    commit: str
    subject: str
    filter: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of arms over items.

    Attributes:
        key: unique key, derived from repository, mode, arms and items.
        repo: the path of the repository.
        mode: the part of an item that models are given.
        arms: names of the arms.
        items: keys of the items, in the order of work.
        state: the state of the run.
        reason: why it was stopped.
        started_at: when it began.
        changed_at: when its state last changed.
        rounds: how often all items are tried. A run of several rounds has its own results, because arms learn in each.
    """

    key: str
    repo: str
    mode: Mode
    arms: tuple[str, ...]
    items: tuple[str, ...]
    state: RunState
    reason: str
    started_at: datetime
    changed_at: datetime
    rounds: int = 1


def key_of(repo: str, commit: str) -> str:
    """Return the key of a commit of a repository."""
    return f"{repo}@{commit}"


class BenchmarkStore:
    """The benchmark's database. May be used from any thread; every write is durable when its method returns.

    Args:
        path: the database file; its folder is created if it is missing.
        readonly: open it only for reading.

    Raises:
        StoreMissing: with `readonly`, if nothing was mined yet.
        StoreError: the database cannot be opened, read or written. Every method may raise this.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        if not readonly:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._conn = rows.open_rows(path, readonly=readonly)
        self._lock = threading.Lock()

    def __enter__(self) -> BenchmarkStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; may be called twice."""
        self._conn.close()

    # Methods about mined commits and items.

    def list_examined(self, repo: str) -> frozenset[str]:
        """Return the commits of a repository that have been examined, whatever the result."""
        return self._read(lambda: rows.list_validated(self._conn, repo))

    def candidates(self, repo: str | None = None) -> tuple[Candidate, ...]:
        """Return the commits that wait for validation, the oldest first."""
        return self._of(Candidate, "candidates", repo)

    def items(self, repo: str | None = None) -> tuple[Item, ...]:
        """Return all items, the oldest commit first."""
        return self._of(Item, "items", repo)

    def dropped(self, repo: str | None = None) -> tuple[Dropped, ...]:
        """Return the commits that are not items."""
        return self._of(Dropped, "dropped", repo)

    def add_mined(self, outcomes: Iterable[Candidate | Dropped]) -> None:
        """Store what was found about commits: candidates, or why they are no items, which removes their candidates."""
        with self._writing():
            for outcome in outcomes:
                add = rows.add_candidate if isinstance(outcome, Candidate) else rows.add_dropped
                add(self._conn, _row(outcome))

    def add_item(self, item: Item) -> None:
        """Store an item, and remove its candidate."""
        with self._writing():
            rows.add_item(self._conn, _row(item))

    # Methods about arms, runs and results.

    def arms(self) -> tuple[Arm, ...]:
        """Return all arms that were ever run, by name."""
        return tuple(_value(Arm, row) for row in self._read(lambda: rows.arms(self._conn)))

    def add_arm(self, arm: Arm) -> None:
        """Store an arm; an arm that is already stored stays unchanged.

        Raises:
            BenchmarkError: a different arm has this name.
        """
        with self._writing():
            rows.add_arm(self._conn, _row(arm))
        stored_arm = next(other for other in self.arms() if other.name == arm.name)
        if stored_arm != arm:
            differences = ", ".join(f"{name} {was}, not {is_}" for name, was, is_ in _differing(stored_arm, arm))
            raise BenchmarkError(
                f"{arm.name}: an arm of this name already has results with {differences}; use another name"
            )

    def begin_run(
        self,
        repo: str,
        mode: Mode,
        arms: Iterable[str],
        items: Iterable[str],
        at: datetime,
        rounds: int = 1,
    ) -> Run:
        """Record that a run begins or continues. A run is identified by repository, mode, arms, items and rounds."""
        named, ordered = tuple(arms), tuple(items)
        identity = (repo, str(mode), named, ordered, *([rounds] if rounds > 1 else []))
        digest = hashlib.blake2b(repr(identity).encode(), digest_size=8).hexdigest()
        row: dict[str, rows.Value] = {
            "key": digest, "repo": repo, "mode": str(mode), "rounds": rounds, "at": to_text(at),
        }  # fmt: skip
        with self._writing():
            rows.add_run(self._conn, {**row, "arms": json.dumps(named), "items": json.dumps(ordered)})
        return self.run(digest)

    def runs(self, repo: str | None = None) -> tuple[Run, ...]:
        """Return all runs, the oldest first."""
        return self._of(Run, "runs", repo)

    def run(self, key: str) -> Run:
        """Return one run.

        Raises:
            BenchmarkError: there is no run with this key.
        """
        stored_run = next((run for run in self.runs() if run.key == key), None)
        if stored_run is None:
            raise BenchmarkError(f"there is no run {key} of the benchmark")
        return stored_run

    def end_run(self, key: str, state: RunState, reason: str, at: datetime) -> None:
        """Record that a run is done, or that it must stop.

        The process that works on the run checks this before each attempt.

        Raises:
            BenchmarkError: there is no run with this key.
        """
        with self._writing():
            rows.set_state(self._conn, key, str(state), reason, to_text(at))
        self.run(key)

    def results(self, repo: str | None = None, mode: Mode | None = None) -> tuple[Result, ...]:
        """Return the results of items for arms, in the order in which they were added.

        None as `repo` or `mode` selects the results of all repositories or modes.
        """
        return tuple(_value(Result, row) for row in self._read(lambda: rows.results(self._conn, repo, mode)))

    def add_result(self, result: Result, mode: Mode = Mode.SHOWN) -> bool:
        """Store a result. If this item, arm and mode already have a result, keep that one and return False."""
        with self._writing():
            return rows.add_result(self._conn, {**_row(result), "mode": str(mode)})

    def round_results(self, run: str, number: int) -> tuple[Result, ...]:
        """Return the results of a round (from 1) of a run of several rounds, in the order in which they were added."""
        return tuple(_value(Result, row) for row in self._read(lambda: rows.round_results(self._conn, run, number)))

    def add_round_result(self, result: Result, run: str, number: int) -> bool:
        """Store a result of a round. If this item and arm already have one, keep that one and return False."""
        with self._writing():
            return rows.add_round_result(self._conn, {**_row(result), "run": run, "round": number})

    def note_spent(self, run: str, arm: str, days: Mapping[str, Spent]) -> None:
        """Store an arm's total spending in a run for each day (such as 2026-11-26).

        Interrupted attempts are included.
        """
        with self._writing():
            for day, spent in days.items():
                row: dict[str, rows.Value] = {"run": run, "arm": arm, "day": day}
                rows.note_spent(self._conn, {**row, "cost_usd": spent.cost_usd, "tokens": spent.tokens})

    def spent(self, run: str | None = None, since: date | None = None) -> tuple[float, int]:
        """Return the USD and the tokens that one run, or all runs, spent on or after a day."""
        return self._read(lambda: rows.sum_spent(self._conn, run, str(since or "")))

    # Functions that convert values to database rows and back.

    def _of(self, kind: type[T], table: str, repo: str | None) -> tuple[T, ...]:
        return tuple(_value(kind, row) for row in self._read(lambda: rows.rows(self._conn, table, repo)))

    def _read(self, read: Callable[[], T]) -> T:
        try:
            with self._lock:
                return read()
        except Error as error:
            raise store_error(error, self.path) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._lock, transaction(self._conn):
                yield
        except Error as error:
            raise store_error(error, self.path) from error


_COLUMNS = {"commit": "commit_id"}
"""Columns that are named differently from their fields, because the field's name is an SQL keyword."""


def _row(value: Candidate | Dropped | Item | Arm | Result) -> dict[str, rows.Value]:
    return {_COLUMNS.get(name, name): _cell(content) for name, content in asdict(value).items()}


def _cell(value: object) -> rows.Value:
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, tuple):
        return json.dumps(value)
    assert isinstance(value, str | int | float)
    return storable(value) if isinstance(value, str) else value


def _value(kind: type[T], row: Row) -> T:
    """Convert a row to a value; columns have neither lists nor booleans."""
    types = get_type_hints(kind)
    values = {name: row[_COLUMNS.get(name, name)] for name in types}
    for name, type_ in types.items():
        if type_ is bool:
            values[name] = bool(values[name])
        elif get_origin(type_) is tuple:
            values[name] = json.loads(values[name])
    return from_plain(kind, values)


def _differing(stored_arm: Arm, arm: Arm) -> Iterator[tuple[str, object, object]]:
    for each in fields(Arm):
        was, is_ = getattr(stored_arm, each.name), getattr(arm, each.name)
        if was != is_:
            yield each.name, was, is_
