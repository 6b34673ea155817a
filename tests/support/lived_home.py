"""A used home: tasks in every status with all their records, and the home's files at several moments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from nightshift.app.store import StoreServices, open_store
from nightshift.config.load import Settings, load_settings
from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Ending, Outcome, Phase, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.storage.db import backups
from nightshift.storage.db.sqlite import connect
from nightshift.storage.db.state_store import Commit

NOON = datetime(2026, 3, 20, 12, tzinfo=UTC)
DATABASE = "db/agent_logs.sqlite"
STATE = (
    "SELECT t.id, t.status, t.ending, t.attempt, t.description, t.key, t.commit_id, s.spec, "
    "(SELECT group_concat(depends_on) FROM task_dependencies d WHERE d.task_id = t.id) AS needs "
    "FROM tasks t JOIN task_specs s ON s.task_id = t.id"
)
Files = dict[str, bytes]


class Ticking:
    """A clock that advances by a minute on each call."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A home at one moment: its files by their relative paths, and the contents of its database."""

    files: Files
    tasks: Mapping[int, tuple[object, ...]]
    newest_event: int


@cache
def settings_of(home: Path) -> Settings:
    return load_settings(home=home)


def tasks_of(database: Path) -> dict[int, tuple[object, ...]]:
    """Return the state of each task, keyed by the task's id."""
    with closing(connect(database, readonly=True)) as conn:
        return {row[0]: tuple(row) for row in conn.execute(STATE)}


def moments(home: Path) -> dict[str, Moment]:
    """Use a home, and copy its files at three moments.

    `hot` is the home of a killed daemon, with a write-ahead log. In `folded`, a part of the write-ahead log has already
    been copied into the database file. `closed` was stopped cleanly.
    """
    moment_by_name: dict[str, Moment] = {}
    settings, clock = settings_of(home), Ticking()
    with ExitStack() as stack:
        store = open_store(settings, stack, clock)
        live(store, clock, rounds=2)
        backups.make(settings.db_path, settings.backups_dir, clock(), keep=4, daily=0)
        _fold(settings.db_path, "TRUNCATE")
        live(store, clock, rounds=1)
        moment_by_name["hot"] = _moment(home, store)
        _fold(settings.db_path, "PASSIVE")
        _submit(store, "after the log was folded")
        moment_by_name["folded"] = _moment(home, store)
    moment_by_name["closed"] = replace(_moment(home), newest_event=moment_by_name["folded"].newest_event)
    return moment_by_name


def live(store: StoreServices, clock: Ticking, rounds: int) -> None:
    """Create tasks in every status. Each round adds one set of them."""
    queue = store.queue
    for number in range(rounds):
        done = _claim(store, f"done {number}")
        _work(store, done, clock)
        commit = f"{done.id:040x}"
        store.state.record_commit(
            Commit(task_id=done.id, attempt=1, repo="/r", branch="b", commit=commit, base="0", subject="s", label="")
        ).result()
        queue.finish(done.id, done.fence, Ending.COMMITTED, commit=commit, branch="b").result()
        failed = _claim(store, "failed " + "with a long text " * 300)
        queue.finish(failed.id, failed.fence, Ending.GAVE_UP, reason="no idea").result()
        waiting = _claim(store, "waiting")
        queue.wait_for_owner(
            waiting.id, waiting.fence, "?", [Ask(kind=AskKind.PACKAGE, subject="package:x", question="x?")]
        ).result()
        running = _claim(store, "running")
        _work(store, running, clock)
        _submit(store, "later", not_before=clock.now + timedelta(days=900))
        first = _submit(store, "queued", files={"a.py": "x = 1\n" * 1500}, priority=-1)
        _submit(store, "blocked", depends_on=(first,))
        cancelled = _submit(store, "cancelled", key=f"key-{clock()}")
        queue.cancel(cancelled).result()


def _fold(database: Path, how: str) -> None:
    with closing(connect(database)) as conn:
        conn.execute(f"PRAGMA wal_checkpoint({how})").fetchall()


def _moment(home: Path, store: StoreServices | None = None) -> Moment:
    if store:
        store.db.write(lambda _: None).result()  # listeners hear of a commit only after its future is done
    files = {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    files = {name: raw for name, raw in files.items() if not name.endswith(("-shm", ".part"))}
    return Moment(
        files=files,
        tasks=tasks_of(home / DATABASE),
        newest_event=store.events.newest_id() if store else 0,
    )


def _submit(store: StoreServices, text: str, **more: object) -> int:
    return store.queue.submit(TaskSpec(description=text, **more)).result().task_id  # type: ignore[arg-type]


def _claim(store: StoreServices, text: str) -> Task:
    task_id = _submit(store, text, priority=100)
    task = store.queue.claim("worker-1", only=task_id).result()
    assert task is not None
    assert task.status is Status.RUNNING
    return task


def _work(store: StoreServices, task: Task, clock: Ticking) -> None:
    """Store two steps, each with a model's reply."""
    for number in range(2):
        request = ModelRequest(
            phase=Phase.CODING,
            messages=(Message(role="system", text="Phase: CODING"), Message(role="user", text=f"do {task.id}")),
            task_id=task.id,
            attempt=task.attempt,
            step_no=number,
        )
        text = f"answer {number} of {task.id}\n" * 40
        reply = Completion(text=text, backend="openai", model="m", tokens_in=9, tokens_out=9, cost_usd=0.1, latency_s=1)
        store.steps.save_reply(request, reply).result()
        work = AttemptState(phase=Phase.TESTING, base="b", step_no=number + 1, change={"a.py": text})
        step = Step(phase=Phase.CODING, outcome=Outcome.OK, state=work, note=f"step {number}")
        store.steps.save_step(task.id, task.attempt, task.fence, step, started_at=clock(), duration_s=1.0).result()


def describe(database: Path) -> dict[str, Any] | None:
    """Return the data of the newest event about a restored database, or None if there is no such event."""
    with closing(connect(database, readonly=True)) as conn:
        query = "SELECT data FROM execution_logs WHERE kind = 'database_restored' ORDER BY id DESC LIMIT 1"
        row = conn.execute(query).fetchone()
        return None if row is None else dict(json.loads(row[0]))
