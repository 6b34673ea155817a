"""The report of a period stays the same when it is made again.

It also says which events have been pruned from the log since.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

from nightshift.core.events import Kind
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.report.figures import Known
from nightshift.report.weekly import render, summarise
from nightshift.storage.db import backups
from nightshift.storage.db.pruning import Gone, Pruned, note_events, prune_events
from nightshift.storage.db.writer import Job
from tests.support.history import ERRORS, FIRST, WEEK, History, verdict

ROOT = Path(__file__).parents[2]
SINCE, UNTIL = FIRST + WEEK, FIRST + 2 * WEEK


def page(history: History, since: datetime = SINCE, until: datetime = UNTIL) -> str:
    return render(summarise(history.store.db, since, until))


def prune(history: History, before: datetime) -> None:
    """Remove events in the same way as the daemon's maintenance."""
    at = history.clock.now
    newest, after = history.store.events.newest_id(), 0
    while (gone := history.store.db.write(_pruning(after, newest, before)).result()).reached:
        after = gone.reached
    history.store.db.write(
        lambda conn: note_events(conn, Pruned(at=at, setting="keep_events_days", before=before))
    ).result()


def _pruning(after: int, newest: int, before: datetime) -> Job[Gone]:
    return lambda conn: prune_events(conn, after, newest, before)


def fail(history: History, text: str = "do it") -> int:
    """Run a task that gives up; return its number."""
    history.store.queue.submit(parse_spec({"description": text})).result()
    task = history.store.queue.claim("w").result()
    assert task
    history.clock.advance(60)
    history.store.queue.finish(task.id, task.fence, Ending.GAVE_UP, reason="no way", iterations=4).result()
    return task.id


def succeed(history: History, task_id: int) -> None:
    """Retry the task and finish it as done."""
    history.store.queue.retry(task_id).result()
    task = history.store.queue.claim("w").result()
    assert task
    assert task.id == task_id
    history.clock.advance(60)
    history.store.queue.finish(task.id, task.fence, Ending.NO_CHANGE, iterations=1).result()


def test_whatever_happens_afterwards_the_report_stays_as_it_was(history: History) -> None:
    history.week(8)
    history.week(8, skill=0.6)
    history.clock.now = UNTIL - timedelta(hours=1)
    given_up = [fail(history) for _ in range(2)]
    open_failure = AttemptState(phase=Phase.REFLECTING, base="b", iteration=1, verdict=verdict(False, ERRORS[0]))
    asyncio.run(history.memory.remember(open_failure, given_up[0], "x"))
    read = history.ledger.page(1)[0].task_id
    history.ledger.review(task_id=read).result()
    history.clock.advance(1)
    history.store.queue.add_pause(PauseSource.CHECKPOINT, "checkpoint").result()
    before = page(history)
    history.clock.now = UNTIL + timedelta(hours=1)
    history.store.queue.remove_pause(PauseSource.CHECKPOINT).result()
    unread = [commit.task_id for commit in history.ledger.page(50, unread=True) if commit.at and commit.at < UNTIL]
    history.revert(unread[0])
    history.revert(read)
    asyncio.run(history.memory.conclude(open_failure, given_up[0], solved=True))
    history.ledger.review().result()
    succeed(history, given_up[0])
    history.store.queue.retry(given_up[1]).result()
    history.week(8)
    assert page(history) == before
    assert page(history, UNTIL, UNTIL + WEEK) != before


def test_a_task_that_was_tried_again_counts_in_each_span_as_it_ended_there(history: History) -> None:
    task_id = fail(history)
    history.clock.now = FIRST + WEEK
    succeed(history, task_id)
    first = summarise(history.store.db, FIRST, FIRST + WEEK)
    second = summarise(history.store.db, FIRST + WEEK, FIRST + 2 * WEEK)
    assert (first.tasks.by_status, second.tasks.by_status) == ({Status.FAILED: 1}, {Status.DONE: 1})
    (cause,) = first.tasks.causes
    assert [failed.reason for failed in cause.tasks] == ["no way"]
    assert (first.tasks.open_at_end, second.tasks.open_at_end) == (0, 0)


def test_what_the_pruned_log_told_is_no_longer_known_instead_of_none(history: History) -> None:
    history.week(4)
    history.tell(Kind.MODEL_FAILED, "x", backend="openai", error="Outage")
    history.week(4)
    full_summary = summarise(history.store.db, FIRST, UNTIL)
    history.clock.now = UNTIL + timedelta(days=90)
    prune(history, UNTIL)
    gone = summarise(history.store.db, FIRST, UNTIL)
    assert (full_summary.log_coverage, gone.log_coverage) == (Known.WHOLE, Known.NOTHING)
    assert (gone.tasks, gone.commits) == (full_summary.tasks, full_summary.commits)
    assert (gone.learning.uplift, gone.usage.models) == (full_summary.learning.uplift, full_summary.usage.models)
    page = render(gone)
    assert "Failed calls: no longer known." in page
    assert "Events of this time" not in render(full_summary)
    assert page.count("The events of this time have been pruned") == 3


def test_the_bytes_depend_neither_on_hashes_nor_on_zone_and_language(history: History, tmp_path: Path) -> None:
    history.week(10, skill=0.6)
    (tmp_path / "home" / "db").mkdir(parents=True)
    backups.copy(history.store.db.path, tmp_path / "home" / "db" / "agent_logs.sqlite")
    written = []
    for seed, zone in (("0", "UTC"), ("1", "Pacific/Auckland"), ("2", "America/New_York")):
        environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"}
        command = [sys.executable, str(ROOT / "cli.py"), "--home", str(tmp_path / "home"), "--report", "2026-W39"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        written.append([Path(name).read_bytes() for name in done.stdout.split()])
    assert written[0] == written[1] == written[2]
    assert str(tmp_path).encode() not in written[0][0]
