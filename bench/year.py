"""Makes the home of a simulated year from a copy of a home in which some dozens of tasks were done.

    .venv/bin/python bench/growth.py --home SEED --tasks 60 --fail-every 10     # makes such a home
    .venv/bin/python bench/year.py SEED HOME [--tasks 81000]

The daemon of SEED must have stopped. Each simulated task is a copy of one of SEED's ended tasks, in all tables that
have a column `task_id`. The copy has new ids (of task, failure, pattern and commit), and all its times are moved by the
same amount. The number at the end of its file names (above_5_17.py) becomes the number of the copy, so that texts and
paths differ. Data that a daemon would have pruned are left out: steps, replies, routes and tool calls older than
`WORK_DAYS` (their tasks are in `pruned_work`), and events older than `EVENTS_DAYS`. Each remaining text gets a row of
its own. Each task whose number `ASKS_EVERY` divides asked its owner. No commit is read. Vectors are copied with noise.

The columns are read from the database, so columns that are new in a later version are copied unchanged. The exit code
is 1 if a foreign key is broken.
"""

# ruff: noqa: E402  the path comes first: this folder's queue.py would hide the standard library's
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import argparse
import array
import hashlib
import json
import random
import re
import shutil
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from nightshift.core.clock import from_text, to_text
from nightshift.storage.db.codec import spec_digest
from nightshift.storage.db.sqlite import Connection, connect

DATABASE = "db/agent_logs.sqlite"
OF_PROCESS = shutil.ignore_patterns("*.lock", "*.clean", "backups", "socket*", "port")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
NUMBERED = re.compile(r"\b((?:test_)?above_\d+)_(\d+)\b|\b(above-\d+)-(\d+)(?=-py)")
"""File names of the generated tasks, and their form in branch names."""
NOT_COPIED = frozenset({"task_forks", "hub_outbox", "task_dependencies", "pruned_work", "approvals", "tasks"})
"""Tables with a column `task_id` that are not copied for a simulated task, or whose rows are made in another way."""
WORK = frozenset({"steps", "replies", "tool_calls", "model_routes"})
"""Tables that are pruned after `WORK_DAYS`."""
TEXTS = frozenset({"work", "prompt", "reply", "arguments", "result", "change"})
"""Columns of the tables in `WORK` that refer to a text by its digest."""
LESSONS = {"failures": "failure", "patterns": "pattern"}
"""Maps each table of lessons to the kind by which other tables refer to its rows."""
BATCH = 2000
"""Number of tasks per transaction."""
NOISE = 0.05
"""Standard deviation of the noise that is added to a number of a vector."""

DAYS, WORK_DAYS, EVENTS_DAYS, ASKS_EVERY = 365, 30, 90, 40

Row = list[Any]


@dataclass(slots=True, kw_only=True)
class Copy:
    """One simulated task: its number, its age, and the texts that replace those of the task it was copied from."""

    task: int
    began: datetime
    age_days: float
    moved_by: timedelta
    commit: str
    replaced: dict[str, str]
    lessons: dict[str, dict[int, int]] = field(default_factory=lambda: {kind: {} for kind in LESSONS.values()})
    """New ids by old ids, for each kind of lesson."""
    texts: dict[str, str] = field(default_factory=dict)
    """Digests of the copy's texts, by the digests of the seed's texts."""

    def value(self, value: Any) -> Any:
        """Adapt a value of the seed's task: move times, and replace names, commits and folders by those of the copy."""
        if not isinstance(value, str) or not value:
            return value
        value = TIME.sub(lambda match: to_text(from_text(match[0]) + self.moved_by), value)
        value = NUMBERED.sub(lambda match: f"{match[1]}_{self.task}" if match[1] else f"{match[3]}-{self.task}", value)
        for old, new in self.replaced.items():
            value = value.replace(old, new)
        return value

    def branch(self, branch: str) -> str:
        """Replace the number in the name of a branch."""
        return re.sub(r"^agent/\d+-", f"agent/{self.task}-", branch)


class Year:
    """Makes the database rows of the simulated year.

    Args:
        conn: the database of the new home.
        seed: the folder that the home was copied from.
        home: the folder that it was copied to.
        count: number of tasks.
    """

    def __init__(self, conn: Connection, seed: Path, home: Path, count: int) -> None:
        self.conn, self.count = conn, count
        self.folders = {str(seed): str(home)}
        self.repo, self.random = str(home / "workspace"), random.Random(1)
        names = [row[0] for row in self.select("name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in names if not name.startswith(("sqlite_", "vec_", "_sqlite"))]
        self.columns = {name: [row[1] for row in conn.execute(f'PRAGMA table_info("{name}")')] for name in tables}
        of_task = [name for name in tables if "task_id" in self.columns[name] and name not in NOT_COPIED]
        self.of_task = sorted(of_task, key=lambda name: (name not in LESSONS, name))  # other tables refer to lessons
        self.next_id: dict[str, int] = {
            name: self.select(f'coalesce(max(id), 0) FROM "{name}"')[0][0]
            for name in tables
            if "id" in self.columns[name]
        }
        self.tasks = self.select("* FROM tasks WHERE status IN ('done', 'failed') AND id > 1 ORDER BY id")
        self.rows = {
            (row[0], name): self.select(f'* FROM "{name}" WHERE task_id = ?', row[0])
            for row in self.tasks
            for name in self.of_task
        }
        self.texts = {row[0]: row for row in self.select("* FROM artifacts")}
        self.vectors: dict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in self.select("* FROM memory_vectors"):
            kind, item = (self.of("memory_vectors", row, column) for column in ("kind", "item"))
            self.vectors[kind, item].append(row)
        self.now, self.base = datetime.now(UTC), "0" * 40

    def make(self) -> None:
        """Make all tasks."""
        began = time.monotonic()
        first_task, step = self.next_id["tasks"] + 1, timedelta(days=DAYS) / self.count
        first = self.now - timedelta(days=DAYS)
        # The triggers check each change of a task's status, but the copied tasks are inserted in their final status.
        triggers = self.select("name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'tasks'")
        for name, _ in triggers:
            self.conn.execute(f"DROP TRIGGER {name}")
        for start in range(0, self.count, BATCH):
            with self.conn:
                for number in range(start, min(start + BATCH, self.count)):
                    self.make_task(number, first_task + number, first + step * number)
            print(f"{self.conn.total_changes} rows, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        with self.conn:
            query = "UPDATE task_specs SET digest = spec_digest(task_id, spec) WHERE task_id >= ?"
            self.conn.execute(query, (first_task,))
            self.move_checkpoint()
            for _, sql in triggers:
                self.conn.execute(sql)

    def make_task(self, number: int, task: int, began: datetime) -> None:
        """Make one task, and all rows that belong to it."""
        seed = self.tasks[number % len(self.tasks)]
        commit, old_commit = hashlib.sha1(f"year-{task}".encode()).hexdigest(), self.of("tasks", seed, "commit_id")
        commits = {old_commit: commit, old_commit[:10]: commit[:10]} if old_commit else {}
        copy = Copy(
            task=task,
            began=began,
            age_days=(self.now - began).total_seconds() / 86_400,
            moved_by=began - from_text(self.of("tasks", seed, "created_at")),
            commit=commit,
            replaced={**commits, **self.folders},
        )
        row = [copy.value(value) for value in seed]
        branch = self.of("tasks", row, "branch")
        self.insert("tasks", row, id=task, key=None, branch=copy.branch(branch) if branch else branch)
        for table in self.of_task:
            if copy.age_days <= self.days_kept(table):
                for old in self.rows[self.of("tasks", seed, "id"), table]:
                    self.make_row(copy, table, old)
        self.make_vectors(copy)
        if copy.age_days > WORK_DAYS:
            pruned = to_text(began + timedelta(days=WORK_DAYS))
            self.conn.execute("INSERT INTO pruned_work VALUES (?, ?, 'keep_work_days')", (task, pruned))
        if number % ASKS_EVERY == 0:
            self.make_ask(copy)

    def make_row(self, copy: Copy, table: str, old: Row) -> None:
        """Make the copy of a row that belongs to a task."""
        row = [copy.value(value) for value in old]
        changed: dict[str, Any] = {"task_id": copy.task}
        if table in self.next_id:
            changed["id"] = self.take_id(table)
        if table in LESSONS:
            copy.lessons[LESSONS[table]][self.of(table, old, "id")] = changed["id"]
        if table == "git_commits":
            changed |= {"commit_id": copy.commit, "base": self.base, "repo": self.repo}
            changed["branch"] = copy.branch(self.of(table, row, "branch"))
            self.base = copy.commit
        if table == "recalls":
            kind, item = self.of(table, old, "kind"), self.of(table, old, "item")
            newest = self.next_id["failures" if kind == "failure" else "patterns"]
            changed["item"] = copy.lessons[kind].get(item) or self.random.randrange(1, max(2, newest))
        if table in WORK:
            for column in TEXTS.intersection(self.columns[table]):
                changed[column] = self.make_text(copy, self.of(table, old, column))
        self.insert(table, row, **changed)

    def make_text(self, copy: Copy, digest: str | None) -> str | None:
        """Add a copy of a text of the seed under a new digest, and return the new digest.

        The copy has the same body. A digest of None, or of a text that was pruned, is returned unchanged.
        """
        if digest is None or digest not in self.texts:
            return digest
        if digest not in copy.texts:
            copy.texts[digest] = hashlib.sha256(f"{digest}{copy.task}".encode()).hexdigest()
            self.insert("artifacts", self.texts[digest], digest=copy.texts[digest], at=to_text(copy.began))
        return copy.texts[digest]

    def make_vectors(self, copy: Copy) -> None:
        """Make the vectors of the copy's lessons: the seed's vectors, with noise added and scaled to length 1."""
        for kind, ids in copy.lessons.items():
            for old, new in ids.items():
                for row in self.vectors[kind, old]:
                    numbers = array.array("f", self.of("memory_vectors", row, "vector"))
                    for at in self.random.sample(range(len(numbers)), 4):
                        numbers[at] += self.random.gauss(0, NOISE)
                    length = sum(x * x for x in numbers) ** 0.5
                    vector = array.array("f", (x / length for x in numbers)).tobytes()
                    self.insert("memory_vectors", row, id=self.take_id("memory_vectors"), item=new, vector=vector)

    def make_ask(self, copy: Copy) -> None:
        """Make a question in which the task asks for a package; the owner agreed after eight hours."""
        asked = {
            "id": self.take_id("approvals"), "task_id": copy.task, "attempt": 1, "kind": "package", "fallback": "",
            "subject": "package:requests", "question": f"May task {copy.task} use the package requests?",
            "answer": "", "granted": 1, "answered_by": "owner",
            "asked_at": to_text(copy.began), "answered_at": to_text(copy.began + timedelta(hours=8)),
        }  # fmt: skip
        self.insert("approvals", [asked.get(column) for column in self.columns["approvals"]])

    def move_checkpoint(self) -> None:
        """Move the last checkpoint to three days ago; otherwise one would be due when the daemon starts."""
        value = json.dumps(to_text(self.now - timedelta(days=3)))
        query = "UPDATE system_state SET value = ? WHERE key IN ('last_checkpoint_at', 'checkpoint_counts_from')"
        self.conn.execute(query, (value,))

    def days_kept(self, table: str) -> float:
        """Return the days after which the rows of a table are pruned; infinity for a table that is not pruned."""
        pruned = {"execution_logs": EVENTS_DAYS, **dict.fromkeys(WORK, WORK_DAYS)}
        return pruned.get(table, float("inf"))

    def take_id(self, table: str) -> int:
        """Return the next free id of a table."""
        self.next_id[table] += 1
        return self.next_id[table]

    def insert(self, table: str, row: Row, **changed: Any) -> None:
        """Insert a row with changed columns; a task's second recall of the same lesson is ignored."""
        values = [changed.get(column, value) for column, value in zip(self.columns[table], row, strict=True)]
        how, marks = "OR IGNORE" if table == "recalls" else "", ", ".join("?" * len(values))
        self.conn.execute(f'INSERT {how} INTO "{table}" VALUES ({marks})', values)

    def of(self, table: str, row: Any, column: str) -> Any:
        """Return the value of a column in a row."""
        return row[self.columns[table].index(column)]

    def select(self, query: str, *values: Any) -> list[Row]:
        """Return the rows of a query."""
        return [list(row) for row in self.conn.execute(f"SELECT {query}", values)]


def main() -> int:
    """Make the home; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=Path)
    parser.add_argument("home", type=Path)
    parser.add_argument("--tasks", type=int, default=81_000)
    asked = parser.parse_args()
    seed, home, began = asked.seed.resolve(), asked.home.resolve(), time.monotonic()
    shutil.copytree(seed, home, symlinks=True, ignore=OF_PROCESS)
    with closing(connect(home / DATABASE)) as conn:
        conn.create_function("spec_digest", 2, spec_digest)
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("PRAGMA cache_size = -400000")
        Year(conn, seed, home, asked.tasks).make()
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        broken = conn.execute("PRAGMA foreign_key_check").fetchall()
        size_mb = (home / DATABASE).stat().st_size / 2**20
    print(f"{asked.tasks} tasks in {time.monotonic() - began:.0f} s, {size_mb:.0f} MB")
    for row in broken[:3]:
        print("leads nowhere:", tuple(row))
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
