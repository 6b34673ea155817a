"""Opens the daemon's database read-only, so that no lock is needed."""

import sqlite3


def attack(facts: dict[str, str]) -> None:
    try:
        with sqlite3.connect(f"file:{facts['database']}?mode=ro&immutable=1", uri=True) as db:
            print(db.execute("select * from tasks").fetchall())
    except sqlite3.OperationalError as error:
        raise OSError(str(error)) from error
