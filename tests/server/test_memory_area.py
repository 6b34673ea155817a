"""Lessons over the API: listed, found, read, retired, exported and imported, and the measured value of memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial

import pytest

from nightshift.core.clock import to_text
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.states import Phase
from nightshift.server.context import NO_DAEMON, AppContext
from nightshift.storage.memory import exchange, recall_log
from nightshift.storage.memory.recall_log import Assignment, Recalled
from tests.support.app_context import Client, serving
from tests.support.lessons import learn
from tests.support.worked_task import submit


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A server whose memory has learned from three tasks."""

    context: AppContext
    client: Client


@pytest.fixture
def room(context: AppContext, client: Client) -> Room:
    learn(context, "Parse a CSV file of prices", "TypeError: can only concatenate str", "Convert to int first.")
    learn(context, "Draw the Mandelbrot set", "KeyError: 'aspect'", "Mind the aspect ratio.", repo="/src/art")
    learn(context, "Serve a health check", "ImportError: no module web", "Use what is there.", language="javascript")
    return Room(context=context, client=client)


def ids(room: Room, query: str = "") -> list[str]:
    return [row["id"] for row in room.client.get(f"/api/lessons?{query}").json["lessons"]]


def end(room: Room, lesson: str, outcomes: list[tuple[Assignment, bool]]) -> None:
    """Store attempts of new tasks for which the lesson was relevant, and the end of each attempt."""
    kind, number = lesson.split("-")
    for arm, solved in outcomes:
        recall = Recalled(kind="failure" if kind == "failure" else "pattern", item=int(number), arm=arm, score=0.9)
        task = near(room, recall, f"after {lesson}")
        end = partial(recall_log.end, task_id=task, attempt=1, solved=solved, iterations=2, at=room.context.clock())
        room.context.database.write(end).result()


def near(room: Room, recall: Recalled, description: str) -> int:
    """Create a task for whose first attempt a lesson was relevant, and return the task's id."""
    task = submit(room.context, description)
    add = partial(recall_log.add, task_id=task, attempt=1, recalls=[recall], at=room.context.clock())
    room.context.database.write(add).result()
    return task


def test_lessons_are_listed_newest_first_page_by_page(room: Room) -> None:
    page = room.client.get("/api/lessons?limit=4").json
    assert [row["id"] for row in page["lessons"]] == ["failure-3", "pattern-3", "failure-2", "pattern-2"]
    assert (page["found"], page["next_offset"]) == (6, 4)
    assert ids(room, "limit=4&offset=4") == ["failure-1", "pattern-1"]
    assert (page["languages"], page["repos"]) == (["python", "javascript"], ["/src/art"])
    row = page["lessons"][2]
    assert (row["about"], row["lesson"], row["repo"]) == ("KeyError: 'aspect'", "Mind the aspect ratio.", "/src/art")
    assert (row["state"], row["task_id"], row["uplift"], row["nearness"]) == ("active", 2, None, None)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("text=ASPECT", ["failure-2", "pattern-2"]),
        ("text=%25", []),
        ("language=javascript", ["failure-3", "pattern-3"]),
        ("repo=/src/art&kind=failure", ["failure-2"]),
        ("state=active&text=csv", ["pattern-1"]),
    ],
)
def test_filters_leave_what_is_wanted(room: Room, query: str, expected: list[str]) -> None:
    assert ids(room, query) == expected


def test_a_search_by_meaning_finds_the_nearest_first(room: Room) -> None:
    rows = room.client.get("/api/lessons?like=TypeError:+can+only+concatenate+list").json["lessons"]
    assert rows[0]["id"] == "failure-1"
    assert 0.5 < rows[0]["nearness"] <= 1
    assert ids(room, "like=Parse+a+CSV+file+of+temperatures&kind=pattern") == ["pattern-1"]
    assert ids(room, "like=quantum+chromodynamics") == []
    refused = room.client.get("/api/lessons?like=x&text=y")
    assert (refused.status, "leave them out" in refused.json["fields"]["like"]) == (400, True)


def test_a_lesson_tells_what_mended_it_and_where_it_was_used(room: Room) -> None:
    end(room, "failure-1", [(Assignment.SHOWN, True), (Assignment.CONTROL, False)])
    data = {"lessons": [{"id": 1, "kind": "failure", "score": 0.9}]}
    event = Event(kind=Kind.LESSON_RECALLED, task_id=4, attempt=1, iteration=2, phase=Phase.REFLECTING, data=data)
    room.context.events.emit(event)
    room.context.events.catch_up().result()
    got = room.client.get("/api/lesson/failure-1").json
    assert got["error"].startswith("TypeError: can only concatenate str")
    assert got["signature"] != ""
    assert "+++ b/shop.py" in got["fix"]
    assert "+total = sum(x)" in got["failed_code"]
    control, shown = got["uses"]
    assert (control["arm"], control["solved"]) == ("control", False)
    assert (shown["arm"], shown["iterations"], shown["description"]) == ("shown", 2, "after failure-1")
    assert (got["shown"], got["withheld"]) == ({"part": 1, "whole": 1}, {"part": 0, "whole": 1})
    assert got["uplift"]["estimate"] == 1.0
    assert got["uplift"]["low"] < 0 < got["uplift"]["high"]


def test_a_retired_lesson_is_found_no_more_until_it_is_restored(room: Room) -> None:
    like = "like=KeyError:+%27aspect%27&kind=failure"
    assert ids(room, like) == ["failure-2"]
    gone = room.client.post("/api/lesson/failure-2/retire").json
    assert (gone["state"], gone["retired_by"], bool(gone["retired_at"])) == ("retired", "owner", True)
    assert ids(room, like) == []
    assert ids(room, "state=retired") == ["failure-2"]
    assert room.client.post("/api/lesson/failure-2/retire").json["retired_at"] == gone["retired_at"]
    back = room.client.post("/api/lesson/failure-2/restore").json
    assert (back["state"], back["retired_by"], bool(back["judged_from"])) == ("active", "", True)
    assert ids(room, like) == ["failure-2"]
    events = [(event.kind, event.data["lesson"]) for event in room.context.events.last(100) if "lesson" in event.data]
    assert events == [(Kind.LESSON_RETIRED, 2), (Kind.LESSON_RESTORED, 2)]


def test_what_memory_is_worth_is_told_with_its_intervals(room: Room) -> None:
    assert room.client.get("/api/learning").json["solve_rate"] is None
    end(room, "failure-1", [(Assignment.SHOWN, True)] * 8 + [(Assignment.CONTROL, False)] * 6)
    got = room.client.get("/api/learning").json
    assert (got["shown"], got["control"]) == ({"part": 8, "whole": 8}, {"part": 0, "whole": 6})
    assert got["solve_rate"]["estimate"] == 1.0
    assert got["solve_rate"]["low"] > 0.3
    assert (got["failures"], got["embedder"]) == ({"active": 3, "probation": 0, "retired": 0}, "hashed")
    assert (len(got["learned"]), got["learned"][-1]["lessons"]) == (30, 6)


def test_lessons_go_out_as_lines_and_come_in_once(room: Room) -> None:
    room.client.post("/api/lesson/failure-2/retire")
    out = room.client.get("/api/lessons/export")
    assert out.headers["Content-Disposition"].startswith('attachment; filename="lessons-')
    assert out.headers["Content-Type"].startswith("application/x-ndjson")
    assert len(exchange.read(out.text)) == 5
    assert room.client.post("/api/lessons/import", {"lines": out.text}).json == {"new": 0, "known": 5}
    new = {
        **json.loads(out.text.split("\n")[0]),
        "signature": "OtherError",
        "created_at": to_text(room.context.clock()),
    }
    taken = room.client.post("/api/lessons/import", {"lines": json.dumps(new)})
    assert taken.json == {"new": 1, "known": 0}
    assert ids(room, "text=OtherError") == ["failure-4"]


def test_a_file_with_a_fault_is_refused_whole_and_each_fault_is_named(room: Room) -> None:
    good = room.client.get("/api/lessons/export").text.split("\n")[0].replace("TypeError", "NewError")
    refused = room.client.post("/api/lessons/import", {"lines": f"{good}\n{{}}\nno json"})
    assert refused.status == 400
    assert "line 2: " in refused.json["error"]
    assert "line 3: " in refused.json["error"]
    assert ids(room, "text=NewError") == []
    assert room.client.post("/api/lessons/import", {"lines": ""}).status == 400


def test_without_a_daemon_lessons_are_read_and_not_retired(context: AppContext) -> None:
    learn(context, "Parse a CSV file", "TypeError: x", "Advice.")
    with serving(replace(context, memory=NO_DAEMON)) as client:
        assert len(client.get("/api/lessons").json["lessons"]) == 2
        refused = client.post("/api/lesson/failure-1/retire")
        assert (refused.status, "this server runs without a daemon" in refused.json["error"]) == (503, True)
