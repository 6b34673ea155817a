"""Tables of the benchmark's own database file: examined commits, items, configurations (“arms”) and results.

Each examined commit is in one of three tables: candidates, items or dropped commits. A candidate has passed the filters
and waits for its validation, which turns it into an item (a task of the benchmark) or drops it. The row of a dropped
commit names the filter that dropped it. `round_results` has the results of runs of version 0.1.0 that tried their items
several times; nothing reads it. The migration steps in this module are never edited after their release; new steps are
added at the end.
"""

from __future__ import annotations

from pathlib import Path

from nightshift.core.errors import StoreTooNew
from nightshift.storage.db.sqlite import Connection, Error, connect, store_error, transaction

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


def open_tables(path: Path, *, readonly: bool = False) -> Connection:
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
                open_tables(path).close()
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
