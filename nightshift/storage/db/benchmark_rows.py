"""SQL for the benchmark's own database file: examined commits, items, configurations (“arms”) and results.

Each examined commit is in one of three tables: candidates, items or dropped commits. A candidate has passed the filters
and waits for its validation, which turns it into an item (a task of the benchmark) or drops it. The row of a dropped
commit names the filter that dropped it. A move between tables is one transaction, and every write may be repeated, so a
process that was killed can continue without losing or duplicating a row. The migration steps in this module are never
edited after their release; new steps are added at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nightshift.core.errors import StoreTooNew
from nightshift.storage.db.sqlite import Connection, Error, Row, connect, store_error, transaction

STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE candidates (
            key TEXT PRIMARY KEY, -- the repository and the commit
            repo TEXT NOT NULL,
            commit_id TEXT NOT NULL,
            parent TEXT NOT NULL,
            message TEXT NOT NULL,
            lines INTEGER NOT NULL,
            files INTEGER NOT NULL,
            committed_at TEXT NOT NULL)""",
        """CREATE TABLE items (
            key TEXT PRIMARY KEY,
            repo TEXT NOT NULL,
            commit_id TEXT NOT NULL,
            parent TEXT NOT NULL,
            subject TEXT NOT NULL,
            statement TEXT NOT NULL,
            lines INTEGER NOT NULL,
            files INTEGER NOT NULL,
            committed_at TEXT NOT NULL,
            fail_to_pass TEXT NOT NULL, -- JSON: the names of tests
            pass_to_pass_count INTEGER NOT NULL)""",
        """CREATE TABLE dropped (
            key TEXT PRIMARY KEY,
            repo TEXT NOT NULL,
            commit_id TEXT NOT NULL,
            subject TEXT NOT NULL,
            filter TEXT NOT NULL,
            reason TEXT NOT NULL)""",
        """CREATE TABLE arms (
            name TEXT PRIMARY KEY,
            backend TEXT NOT NULL,
            model TEXT NOT NULL,
            protocol TEXT NOT NULL,
            tools INTEGER NOT NULL,
            readers INTEGER NOT NULL,
            memory INTEGER NOT NULL)""",
        """CREATE TABLE runs (
            key TEXT PRIMARY KEY, -- follows from the columns below
            repo TEXT NOT NULL,
            mode TEXT NOT NULL,
            arms TEXT NOT NULL, -- JSON: names
            items TEXT NOT NULL, -- JSON: keys, in the order in which they are worked on
            state TEXT NOT NULL CHECK (state IN ('running', 'stopped', 'done')),
            reason TEXT NOT NULL,
            started_at TEXT NOT NULL,
            changed_at TEXT NOT NULL)""",
        """CREATE TABLE results (
            item TEXT NOT NULL REFERENCES items (key),
            arm TEXT NOT NULL REFERENCES arms (name),
            mode TEXT NOT NULL,
            solved INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            cost_usd REAL NOT NULL,
            tokens_in INTEGER NOT NULL,
            tokens_out INTEGER NOT NULL,
            seconds REAL NOT NULL,
            iterations INTEGER NOT NULL,
            format_errors INTEGER NOT NULL,
            finished_at TEXT NOT NULL,
            PRIMARY KEY (item, arm, mode))""",
        "CREATE INDEX results_finished ON results (finished_at)",
    ),
    (
        """CREATE TABLE results_of_versions (
            item TEXT NOT NULL REFERENCES items (key),
            arm TEXT NOT NULL REFERENCES arms (name),
            mode TEXT NOT NULL,
            solved INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            cost_usd REAL NOT NULL,
            tokens_in INTEGER NOT NULL,
            tokens_out INTEGER NOT NULL,
            seconds REAL NOT NULL,
            iterations INTEGER NOT NULL,
            format_errors INTEGER NOT NULL,
            finished_at TEXT NOT NULL,
            version TEXT NOT NULL, -- of the agent; empty before it was kept
            PRIMARY KEY (item, arm, mode, version))""",
        """INSERT INTO results_of_versions SELECT item, arm, mode, solved, outcome, cost_usd, tokens_in, tokens_out,
            seconds, iterations, format_errors, finished_at, '' FROM results""",
        "DROP TABLE results",
        "ALTER TABLE results_of_versions RENAME TO results",
        "CREATE INDEX results_finished ON results (finished_at)",
        "ALTER TABLE runs ADD COLUMN version TEXT NOT NULL DEFAULT ''",
    ),
    (
        """CREATE TABLE spendings (
            run TEXT NOT NULL, -- empty for what was spent before this table was there
            arm TEXT NOT NULL,
            day TEXT NOT NULL, -- UTC, such as 2026-11-26
            cost_usd REAL NOT NULL,
            tokens INTEGER NOT NULL,
            PRIMARY KEY (run, arm, day))""",
        """INSERT INTO spendings SELECT '', arm, substr(finished_at, 1, 10), sum(cost_usd), sum(tokens_in + tokens_out)
            FROM results GROUP BY arm, substr(finished_at, 1, 10)""",
    ),
    (
        "ALTER TABLE runs ADD COLUMN rounds INTEGER NOT NULL DEFAULT 1",
        """CREATE TABLE round_results ( -- of runs of several rounds, in which arms learn: each is a trial by itself
            run TEXT NOT NULL REFERENCES runs (key),
            round INTEGER NOT NULL,
            item TEXT NOT NULL REFERENCES items (key),
            arm TEXT NOT NULL REFERENCES arms (name),
            solved INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            cost_usd REAL NOT NULL,
            tokens_in INTEGER NOT NULL,
            tokens_out INTEGER NOT NULL,
            seconds REAL NOT NULL,
            iterations INTEGER NOT NULL,
            format_errors INTEGER NOT NULL,
            finished_at TEXT NOT NULL,
            version TEXT NOT NULL,
            PRIMARY KEY (run, round, item, arm))""",
    ),
    ("ALTER TABLE items ADD COLUMN worded_by TEXT NOT NULL DEFAULT ''",),
)
Value = str | int | float
_SELECT: Mapping[str, str] = {
    # Commits are stored newest first. If two commits have the same second, the one that was stored later is the older
    # one.
    "candidates": "SELECT * FROM candidates WHERE repo = coalesce(?, repo) ORDER BY committed_at, rowid DESC",
    "items": "SELECT * FROM items WHERE repo = coalesce(?, repo) ORDER BY committed_at, key",
    "dropped": "SELECT * FROM dropped WHERE repo = coalesce(?, repo) ORDER BY key",
    "runs": "SELECT * FROM runs WHERE repo = coalesce(?, repo) ORDER BY started_at, key",
}


def open_rows(path: Path, *, readonly: bool = False) -> Connection:
    """Open the database. A database of an older version is migrated, even with `readonly`. The folder must exist.

    Raises:
        StoreMissing: there is no database, and `readonly` is set.
        StoreTooNew: the database was written by a newer Nightshift.
        StoreError: the database cannot be opened.
    """
    conn = connect(path, readonly=readonly)
    try:
        version = int(conn.execute("PRAGMA user_version").fetchone()[0])
        if version > len(STEPS):
            raise StoreTooNew(f"{path}: was written by a newer Nightshift")
        if version < len(STEPS):
            if readonly:
                open_rows(path).close()
            else:
                _migrate(conn)
    except Error as error:
        conn.close()
        raise store_error(error, path) from error
    except BaseException:
        conn.close()
        raise
    return conn


def _migrate(conn: Connection) -> None:
    with transaction(conn):
        done = int(conn.execute("PRAGMA user_version").fetchone()[0])  # another process may have done it meanwhile
        for number, statements in enumerate(STEPS[done:], done + 1):
            for statement in statements:
                conn.execute(statement)
            conn.execute(f"PRAGMA user_version={number}")


def rows(conn: Connection, table: str, repo: str | None = None) -> Sequence[Row]:
    """List the rows of a table: dropped commits by key, and candidates, items or runs with the oldest first.

    `repo` selects one repository; None selects all.
    """
    return conn.execute(_SELECT[table], (repo,)).fetchall()


def list_validated(conn: Connection, repo: str) -> frozenset[str]:
    """List the commits of a repository that were examined."""
    query = """SELECT commit_id FROM candidates WHERE repo = :repo UNION SELECT commit_id FROM items WHERE repo = :repo
        UNION SELECT commit_id FROM dropped WHERE repo = :repo"""
    return frozenset(row[0] for row in conn.execute(query, {"repo": repo}))


def add_candidate(conn: Connection, row: Mapping[str, Value]) -> None:
    """Store a commit that passed the filters; an existing row is left unchanged."""
    _insert(conn, "candidates", row)


def add_item(conn: Connection, row: Mapping[str, Value]) -> None:
    """Store an item. It replaces its candidate row, or updates an existing item row."""
    conn.execute("DELETE FROM candidates WHERE key = :key", row)
    _insert(conn, "items", row, change=("statement", "fail_to_pass", "pass_to_pass_count"))


def add_dropped(conn: Connection, row: Mapping[str, Value]) -> None:
    """Store that a commit was dropped, by which filter and for which reason."""
    conn.execute("DELETE FROM candidates WHERE key = :key", row)
    _insert(conn, "dropped", row, change=("filter", "reason"))


def _insert(conn: Connection, table: str, row: Mapping[str, Value], change: Sequence[str] = ()) -> bool:
    """Insert a row; return False if there is one already, of which only the columns `change` are changed."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in change)
    added = conn.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES (:{', :'.join(row)}) "  # noqa: S608  names of ours
        f"ON CONFLICT DO {f'UPDATE SET {changes}' if change else 'NOTHING'}",
        row,
    )
    return bool(added.rowcount)


def arms(conn: Connection) -> Sequence[Row]:
    """Read all arms (configurations that are compared), by name."""
    return conn.execute("SELECT * FROM arms ORDER BY name").fetchall()


def add_arm(conn: Connection, row: Mapping[str, Value]) -> None:
    """Store an arm; an existing arm of that name is left unchanged."""
    _insert(conn, "arms", row)


def add_run(conn: Connection, row: Mapping[str, Value]) -> None:
    """Store a run, or mark an existing one as running again."""
    conn.execute(
        """INSERT INTO runs (key, repo, mode, arms, items, rounds, state, reason, started_at, changed_at)
        VALUES (:key, :repo, :mode, :arms, :items, :rounds, 'running', '', :at, :at)
        ON CONFLICT (key) DO UPDATE SET state = 'running', reason = '', changed_at = excluded.changed_at""",
        row,
    )


def set_state(conn: Connection, key: str, state: str, reason: str, at: str) -> None:
    """Store the state of a run and its reason, if there is a run with this key."""
    query = "UPDATE runs SET state = ?, reason = ?, changed_at = ? WHERE key = ?"
    conn.execute(query, (state, reason, at, key))


def results(conn: Connection, repo: str | None, mode: str | None) -> Sequence[Row]:
    """Read the results of one repository and mode, in the order in which they were finished. None selects all.

    Databases of version 0.1.0 have one result for each version of the agent; only the newest of these results counts.
    """
    query = """SELECT results.* FROM results JOIN items ON items.key = results.item
        WHERE items.repo = coalesce(:repo, items.repo) AND results.mode = coalesce(:mode, results.mode)
        AND NOT EXISTS (
            SELECT 1 FROM results AS later WHERE later.item = results.item AND later.arm = results.arm
            AND later.mode = results.mode
            AND (later.finished_at, later.version) > (results.finished_at, results.version)
        ) ORDER BY results.finished_at, results.item, results.arm"""
    return conn.execute(query, {"repo": repo, "mode": mode}).fetchall()


def add_result(conn: Connection, row: Mapping[str, Value]) -> bool:
    """Store the result of an item under an arm. Return False, and change nothing, if there is a result already."""
    added = conn.execute(
        """INSERT INTO results (item, arm, mode, solved, outcome, cost_usd, tokens_in, tokens_out, seconds, iterations,
        format_errors, finished_at, version) SELECT :item, :arm, :mode, :solved, :outcome, :cost_usd, :tokens_in,
        :tokens_out, :seconds, :iterations, :format_errors, :finished_at, '' WHERE NOT EXISTS (
            SELECT 1 FROM results WHERE item = :item AND arm = :arm AND mode = :mode)""",
        row,
    )
    return bool(added.rowcount)


def round_results(conn: Connection, run: str, number: int) -> Sequence[Row]:
    """Read the results of a round of a run, in the order in which they were finished."""
    query = "SELECT * FROM round_results WHERE run = ? AND round = ? ORDER BY finished_at, item, arm"
    return conn.execute(query, (run, number)).fetchall()


def add_round_result(conn: Connection, row: Mapping[str, Value]) -> bool:
    """Store an item's result under an arm in a round. Return False, and change nothing, if there is one already."""
    return _insert(conn, "round_results", {**row, "version": ""})


def note_spent(conn: Connection, row: Mapping[str, Value]) -> None:
    """Store what an arm of a run spent on a day; the stored amounts never decrease."""
    conn.execute(
        """INSERT INTO spendings (run, arm, day, cost_usd, tokens) VALUES (:run, :arm, :day, :cost_usd, :tokens)
        ON CONFLICT DO UPDATE SET cost_usd = max(cost_usd, excluded.cost_usd), tokens = max(tokens, excluded.tokens)""",
        row,
    )


def sum_spent(conn: Connection, run: str | None, since: str) -> tuple[float, int]:
    """Return what one run (None: all runs) spent since a day, in USD and in tokens."""
    query = """SELECT coalesce(sum(cost_usd), 0), coalesce(sum(tokens), 0) FROM spendings
        WHERE run = coalesce(?, run) AND day >= ?"""
    cost_usd, tokens = conn.execute(query, (run, since)).fetchone()
    return float(cost_usd), int(tokens)
