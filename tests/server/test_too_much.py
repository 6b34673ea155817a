"""Request bodies that are below the size limit but expensive to process.

The response is small, and other requests do not wait.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.tasks.task import TaskSpec
from nightshift.server.context import AppContext
from tests.support.app_context import Client, Got, make_desk, serving
from tests.support.worked_task import submit

JSON = {"Content-Type": "application/json"}
SMALL = 50_000


def many(count: int) -> str:
    return "{" + ",".join(f'"k{number}":1' for number in range(count)) + "}"


def deep(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


# Functions that build the bodies when they are sent, because each has up to twenty megabytes.
BODIES: dict[str, Callable[[], str]] = {
    "unknown_fields": lambda: many(1_200_000),
    "wrong_items": lambda: '{"description":"x","depends_on":[' + '"",' * 5_000_000 + '""]}',
    "unknown_tasks": lambda: '{"description":"x","depends_on":[' + ",".join(map(str, range(1, 1001))) + "]}",
    "a_long_name": lambda: '{"description":"x","' + "k" * 19_000_000 + '":1}',
    "a_name_twice_among_many": lambda: many(140_000)[:-1] + ',"k139999":1}',
    "brackets": lambda: "[" * 19_000_000,
    "an_endless_text": lambda: '"' + '\\"' * 9_000_000,
    "an_endless_value": lambda: (
        '{"description":"x","cases":[{"call":"a.f","args":[{"literal":"[[[0]*9999]*9999]*9999"}]}]}'
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_answer_to_too_much_is_small_and_others_are_served(shared: Client, name: str) -> None:
    answers: list[Got] = []
    body = BODIES[name]()
    sender = threading.Thread(target=lambda: answers.append(shared.request("POST", "/api/task", body, JSON)))
    sender.start()
    health = shared.get("/healthz")
    sender.join()
    assert (answers[0].status, health.status) == (400, 200)
    assert len(answers[0].body) < SMALL
    assert answers[0].json["error"]


def test_faults_that_are_not_told_are_counted(shared: Client) -> None:
    got = shared.post("/api/task", {"description": "x", "files": dict.fromkeys(map(str, range(300)), 5)})
    assert (len(got.json["fields"]), got.json["more"]) == (50, 250)
    assert got.json["error"].endswith("; and 250 more")


def test_many_wrong_parameters_of_a_query_are_told_as_briefly(shared: Client) -> None:
    got = shared.get("/api/tasks?" + "&".join(f"k{number}=1" for number in range(5000)))
    assert got.status == 400
    assert (len(got.json["fields"]), got.json["more"]) == (50, 4950)


@pytest.mark.parametrize("path", ["/api/tasks/bulk", "/api/decisions", "/api/pause", "/api/lessons/import"])
def test_every_body_is_bounded(shared: Client, path: str) -> None:
    got = shared.request("POST", path, BODIES["unknown_fields"](), JSON)
    assert (got.status, len(got.body) < SMALL) == (400, True)


@pytest.mark.parametrize("depth", [51, 100_000])
@pytest.mark.parametrize("field", ["metadata", "what_we_do_not_know"])
def test_a_field_that_is_nested_too_deeply_is_named(shared: Client, field: str, depth: int) -> None:
    got = shared.request("POST", "/api/task", f'{{"description": "x", "{field}": {deep(depth)}}}', JSON)
    assert got.status == 400
    assert got.json["fields"] == {field: "nested more than 50 deep; make it flatter"}


# Tasks stored by an older version, which accepted data of any depth.


def read_stored(context: AppContext, depth: int) -> None:
    metadata: dict[str, Any] = {"kept": "as it was", "deep": json.loads(deep(depth))}
    context.queue.submit(TaskSpec(description="Do it", metadata=metadata)).result()


@pytest.mark.parametrize("depth", [60, 400])
def test_a_task_that_an_older_version_took_can_be_read(client: Client, context: AppContext, depth: int) -> None:
    read_stored(context, depth)
    shown = client.get("/api/task/1")
    assert shown.status == 200
    assert shown.json["metadata"]["kept"] == "as it was"
    assert "nested more than 50 deep; the rest is not shown" in shown.text
    for path in ("/task/1", "/api/task/1/timeline", "/api/tasks", "/"):
        assert client.get(path).status == 200, path


def test_what_no_parser_can_read_any_more_ends_its_task_and_no_other(tmp_path: Path) -> None:
    context = make_desk(tmp_path)
    first, second = submit(context, "a"), submit(context, "b")
    text = '{"description": "a", "metadata": ' + deep(20_000) + "}"
    context.database.write(
        lambda conn: conn.execute("UPDATE task_specs SET spec = ? WHERE task_id = ?", (text, first))
    ).result()
    with serving(context) as client:
        assert client.get(f"/api/task/{first}").status == 200
        claimed = context.queue.claim("worker-1").result()
        assert claimed is not None
        assert claimed.id == second
        ended = client.get(f"/api/task/{first}").json
        assert (ended["status"], "cannot be read" in ended["reason"]) == ("failed", True)
    context.database.close()
