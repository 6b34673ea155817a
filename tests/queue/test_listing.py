"""The migration, and every way to insert a task, fill the columns that lists of tasks need."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from nightshift.core.tasks.states import Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Kind, TaskSpec
from nightshift.queue.listing import OWN, Order, Sort, TaskFilter
from nightshift.queue.manager import QueueManager
from nightshift.storage.db import migrations
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import connect_draft
from tests.support.store import open_store

if TYPE_CHECKING:
    from sqlite_utils import Database as Tables

SHOP, OWN_TASKS = TaskFilter(repo="/srv/shop", kind=Kind.LIBRARY), TaskFilter(repo=OWN)


def test_tasks_of_an_earlier_version_are_found_by_kind_and_repository(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    with Database(path) as database:
        queue = QueueManager(database, EventLog(database))
        queue.submit(parse_spec({"description": "a", "repo": "/srv/shop", "kind": "library"})).result()
        queue.submit(parse_spec({"description": "b"})).result()
        rows = [tuple(row) for row in database.reader().execute("SELECT task_id, spec, digest FROM task_specs")]
    old = tmp_path / "old.sqlite"
    with closing(connect_draft(old)) as conn:
        for name, step in migrations.STEPS:
            if name < "0007":
                step(cast("Tables", conn))
        for task_id, spec, digest in rows:
            insert = "INSERT INTO tasks (id, status, priority, description, created_at) VALUES (?, 'queued', 1, '', '')"
            conn.execute(insert, (task_id,))
            conn.execute("INSERT INTO task_specs (task_id, spec, digest) VALUES (?, ?, ?)", (task_id, spec, digest))
        dict(migrations.STEPS)["0007_pages"](cast("Tables", conn))
        task_rows = conn.execute("SELECT id, kind, repo FROM tasks ORDER BY id").fetchall()
    assert [tuple(row) for row in task_rows] == [(1, "library", "/srv/shop"), (2, "", "")]


def test_a_database_without_projects_learns_where_its_tasks_work_and_what_landed_at_the_root(tmp_path: Path) -> None:
    with closing(connect_draft(tmp_path / "old.sqlite")) as conn:
        for name, step in migrations.STEPS:
            if name < "0016":
                step(cast("Tables", conn))
        for task_id, spec in enumerate(('{"project": "shop"}', '{"project": ""}', "{}", "no JSON"), 1):
            insert = "INSERT INTO tasks (id, status, priority, description, created_at) VALUES (?, 'queued', 1, '', '')"
            conn.execute(insert, (task_id,))
            conn.execute("INSERT INTO task_specs (task_id, spec, digest) VALUES (?, ?, '')", (task_id, spec))
        conn.execute("INSERT INTO system_state VALUES ('landed_packages', '{\"toolz\": \"1.0\"}', '')")
        dict(migrations.STEPS)["0016_projects"](cast("Tables", conn))
        rows = conn.execute("SELECT project FROM tasks ORDER BY id").fetchall()
        landed = conn.execute("SELECT value FROM system_state").fetchone()
    assert [row["project"] for row in rows] == ["shop", "", None, None]
    assert json.loads(landed["value"]) == {"": {"toolz": "1.0"}}


@pytest.mark.parametrize("priorities", [[1, 1, 1], [1, 5, 1, -2]])
def test_the_queue_is_listed_in_the_order_in_which_it_is_claimed(tmp_path: Path, priorities: list[int]) -> None:
    queue = open_store(tmp_path / "a.sqlite").queue
    running = queue.submit(TaskSpec(description="runs", priority=-9)).result().task_id
    queue.claim("w").result()
    for priority in priorities:
        queue.submit(TaskSpec(description="waits", priority=priority)).result()
    waiting = TaskFilter(statuses=frozenset({Status.RUNNING, Status.QUEUED}))
    page = queue.list_tasks(waiting, Order(by=Sort.NEXT, descending=False), 2)
    task_ids = [position.task_id for position in page.places]
    while page.places and len(task_ids) <= len(priorities):
        page = queue.list_tasks(waiting, Order(by=Sort.NEXT, descending=False), 2, page.places[-1])
        task_ids += [position.task_id for position in page.places]
    claimed = [task.id for _ in priorities if (task := queue.claim("w").result())]
    assert task_ids == [running, *claimed]
