"""Stores the benchmark's data in a database of its own (`storage/db/benchmark_tables.py`).

Results are stored by item, arm and mode. The mode is the part of an item that a model is given: `shown` with the tests
of the commit, `words` with only its statement. A commit's move between tables is one transaction, and every write may
be repeated, so a process that was killed can continue without losing or duplicating a row.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TypeVar, get_origin, get_type_hints

from nightshift.core.clock import to_text
from nightshift.core.errors import BenchmarkError
from nightshift.core.tasks.benchmark_results import Arm, Item, Result
from nightshift.core.tasks.commit_message import subject_of
from nightshift.core.tasks.task import Spent
from nightshift.storage.db.benchmark_tables import open_tables
from nightshift.storage.db.codec import from_json_value, storable
from nightshift.storage.db.sqlite import Error, Row, store_error, transaction

T = TypeVar("T")
Value = str | int | float
_OF_COMMITS = ("candidates", "items", "dropped")
"""The tables of examined commits."""
_OF_REPO = "WHERE repo = coalesce(:repo, repo)"


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
        self._conn = open_tables(path, readonly=readonly)
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
        query = " UNION ".join(f"SELECT commit_id FROM {table} WHERE repo = :repo" for table in _OF_COMMITS)  # noqa: S608  names of ours
        return frozenset(row[0] for row in self._rows(query, repo=repo))

    def candidates(self, repo: str | None = None) -> tuple[Candidate, ...]:
        """Return the commits that wait for validation, the oldest first."""
        # Commits are stored newest first. Of two commits of the same second, the one that was stored later is older.
        query = f"SELECT * FROM candidates {_OF_REPO} ORDER BY committed_at, rowid DESC"  # noqa: S608  a constant
        return self._values(Candidate, query, repo=repo)

    def items(self, repo: str | None = None) -> tuple[Item, ...]:
        """Return all items, the oldest commit first."""
        return self._values(Item, f"SELECT * FROM items {_OF_REPO} ORDER BY committed_at, key", repo=repo)  # noqa: S608  a constant

    def list_dropped(self, repo: str | None = None) -> tuple[Dropped, ...]:
        """Return the commits that are not items."""
        return self._values(Dropped, f"SELECT * FROM dropped {_OF_REPO} ORDER BY key", repo=repo)  # noqa: S608  a constant

    def add_mined(self, outcomes: Iterable[Candidate | Dropped]) -> None:
        """Store what was found about commits: candidates, or why they are no items, which removes their candidates."""
        with self._write():
            for outcome in outcomes:
                if isinstance(outcome, Candidate):
                    self._insert("candidates", _row(outcome))
                else:
                    self._conn.execute("DELETE FROM candidates WHERE key = ?", (outcome.key,))
                    self._insert("dropped", _row(outcome), change=("filter", "reason"))

    def add_item(self, item: Item) -> None:
        """Store an item, and remove its candidate. An item that is already stored gets the new statement and tests."""
        with self._write():
            self._conn.execute("DELETE FROM candidates WHERE key = ?", (item.key,))
            self._insert("items", _row(item), change=("statement", "fail_to_pass", "pass_to_pass_count"))

    # Methods about arms, runs and results.

    def arms(self) -> tuple[Arm, ...]:
        """Return all arms that were ever run, by name."""
        return self._values(Arm, "SELECT * FROM arms ORDER BY name")

    def add_arm(self, arm: Arm) -> None:
        """Store an arm; an arm that is already stored stays unchanged.

        Raises:
            BenchmarkError: a different arm has this name.
        """
        with self._write():
            self._insert("arms", _row(arm))
        stored_arm = next(other for other in self.arms() if other.name == arm.name)
        if stored_arm != arm:
            differences = ", ".join(f"{name} {was}, not {is_}" for name, was, is_ in _list_differences(stored_arm, arm))
            raise BenchmarkError(
                f"{arm.name}: an arm of this name already has results with {differences}; use another name"
            )

    def begin_run(self, repo: str, mode: Mode, arms: Iterable[str], items: Iterable[str], at: datetime) -> Run:
        """Record that a run begins or continues. A run is identified by repository, mode, arms and items."""
        named, ordered = tuple(arms), tuple(items)
        digest = hashlib.blake2b(repr((repo, str(mode), named, ordered)).encode(), digest_size=8).hexdigest()
        query = """INSERT INTO runs (key, repo, mode, arms, items, state, reason, started_at, changed_at)
            VALUES (:key, :repo, :mode, :arms, :items, 'running', '', :at, :at)
            ON CONFLICT (key) DO UPDATE SET state = 'running', reason = '', changed_at = excluded.changed_at"""
        row = {"key": digest, "repo": repo, "mode": str(mode), "at": to_text(at)}
        with self._write():
            self._conn.execute(query, {**row, "arms": json.dumps(named), "items": json.dumps(ordered)})
        return self.run(digest)

    def runs(self, repo: str | None = None) -> tuple[Run, ...]:
        """Return all runs, the oldest first."""
        query = f"SELECT * FROM runs {_OF_REPO} AND rounds = 1 ORDER BY started_at, key"  # noqa: S608  a constant
        return self._values(Run, query, repo=repo)

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
        query = "UPDATE runs SET state = ?, reason = ?, changed_at = ? WHERE key = ?"
        with self._write():
            self._conn.execute(query, (str(state), reason, to_text(at), key))
        self.run(key)

    def results(self, repo: str | None = None, mode: Mode | None = None) -> tuple[Result, ...]:
        """Return the results of items for arms, in the order in which they were finished.

        None as `repo` or `mode` selects the results of all repositories or modes. Databases of version 0.1.0 have one
        result for each version of the agent; only the newest of these results counts.
        """
        query = """SELECT results.* FROM results JOIN items ON items.key = results.item
            WHERE items.repo = coalesce(:repo, items.repo) AND results.mode = coalesce(:mode, results.mode)
            AND NOT EXISTS (
                SELECT 1 FROM results AS later WHERE later.item = results.item AND later.arm = results.arm
                AND later.mode = results.mode
                AND (later.finished_at, later.version) > (results.finished_at, results.version)
            ) ORDER BY results.finished_at, results.item, results.arm"""
        return self._values(Result, query, repo=repo, mode=mode)

    def add_result(self, result: Result, mode: Mode = Mode.SHOWN) -> bool:
        """Store a result. If this item, arm and mode already have a result, keep that one and return False."""
        earlier = "SELECT 1 FROM results WHERE item = ? AND arm = ? AND mode = ?"
        with self._write():
            if self._conn.execute(earlier, (result.item, result.arm, mode)).fetchone():
                return False
            self._insert("results", {**_row(result), "mode": str(mode), "version": ""})
        return True

    def note_spent(self, run: str, arm: str, days: Mapping[str, Spent]) -> None:
        """Store an arm's total spending in a run for each day (such as 2026-11-26); stored amounts never decrease.

        Interrupted attempts are included.
        """
        query = """INSERT INTO spendings (run, arm, day, cost_usd, tokens) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
            SET cost_usd = max(cost_usd, excluded.cost_usd), tokens = max(tokens, excluded.tokens)"""
        with self._write():
            for day, spent in days.items():
                self._conn.execute(query, (run, arm, day, spent.cost_usd, spent.tokens))

    def spent(self, run: str | None = None, since: date | None = None) -> tuple[float, int]:
        """Return the USD and the tokens that one run, or all runs, spent on or after a day."""
        query = """SELECT coalesce(sum(cost_usd), 0), coalesce(sum(tokens), 0) FROM spendings
            WHERE run = coalesce(:run, run) AND day >= :since"""
        ((cost_usd, tokens),) = self._rows(query, run=run, since=str(since or ""))
        return float(cost_usd), int(tokens)

    # Functions that convert values to database rows and back.

    def _values(self, kind: type[T], query: str, **given: str | None) -> tuple[T, ...]:
        return tuple(_value(kind, row) for row in self._rows(query, **given))

    def _rows(self, query: str, **given: str | None) -> Sequence[Row]:
        try:
            with self._lock:
                return self._conn.execute(query, given).fetchall()
        except Error as error:
            raise store_error(error, self.path) from error

    @contextmanager
    def _write(self) -> Iterator[None]:
        try:
            with self._lock, transaction(self._conn):
                yield
        except Error as error:
            raise store_error(error, self.path) from error

    def _insert(self, table: str, row: Mapping[str, Value], change: Sequence[str] = ()) -> None:
        """Insert a row; of an existing row, only the columns `change` are changed."""
        changes = ", ".join(f"{name} = excluded.{name}" for name in change)
        self._conn.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES (:{', :'.join(row)}) "  # noqa: S608  names of ours
            f"ON CONFLICT DO {f'UPDATE SET {changes}' if change else 'NOTHING'}",
            row,
        )


_COLUMNS = {"commit": "commit_id"}
"""Columns that are named differently from their fields, because the field's name is an SQL keyword."""


def _row(value: Candidate | Dropped | Item | Arm | Result) -> dict[str, Value]:
    return {_COLUMNS.get(name, name): _cell(content) for name, content in asdict(value).items()}


def _cell(value: object) -> Value:
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, tuple):
        return json.dumps(value)
    assert isinstance(value, str | int | float)
    return storable(value) if isinstance(value, str) else value


def _value(kind: type[T], row: Row) -> T:
    """Convert a row to a value; columns have no lists."""
    types = get_type_hints(kind)
    values = {name: row[_COLUMNS.get(name, name)] for name in types}
    for name, type_ in types.items():
        if get_origin(type_) is tuple:
            values[name] = json.loads(values[name])
    return from_json_value(kind, values)


def _list_differences(stored_arm: Arm, arm: Arm) -> Iterator[tuple[str, object, object]]:
    for each in fields(Arm):
        was, is_ = getattr(stored_arm, each.name), getattr(arm, each.name)
        if was != is_:
            yield each.name, was, is_
