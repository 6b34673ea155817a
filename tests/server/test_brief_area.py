"""The morning brief over the API: its parts, the pages that it links to, and the time up to which it was read."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from nightshift.core.clock import from_text, to_text
from nightshift.core.tasks.states import Ending
from nightshift.server.context import AppContext
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.app_context import Client
from tests.support.worked_task import submit

LANDED = Commit(
    task_id=1, attempt=1, repo="/r", branch="agent/1-x", commit="aa11" + "0" * 36, base="b" * 40, subject="Add",
    label="verified", integrated=True, target="refs/heads/main",
)  # fmt: skip


@pytest.fixture
def night(context: AppContext) -> AppContext:
    """Create two tasks that fail for the same cause, one that fails for another cause, and one that lands."""
    for number in range(4):
        submit(context, f"task {number}\nwith more words")
    task = context.queue.claim("w").result()
    assert task is not None
    context.queue.finish(task.id, task.fence, Ending.COMMITTED).result()
    StateStore(context.database).record_commit(LANDED).result()
    for reason in ("the model was away for 3 s", "the model was away for 9 s", "no such repository"):
        task = context.queue.claim("w").result()
        assert task is not None
        context.queue.finish(task.id, task.fence, Ending.REFUSED, reason=reason).result()
    return context


def texts(answer: dict[str, object]) -> list[str]:
    return str(answer["line"]).split(", ")


def test_the_brief_tells_what_came_of_the_work(client: Client, night: AppContext) -> None:
    brief = client.get("/api/brief").json
    assert texts(brief) == ["1 landed", "3 failed (2 with the same cause)", "1 to read"]
    assert (brief["done"], brief["landed"], brief["failed"], brief["read_at"]) == (1, 1, 3, None)
    first, second = brief["causes"]
    assert (first["count"], first["title"]) == (2, "the model was away for 3 s")
    assert [task["title"] for task in first["tasks"]] == ["task 1", "task 2"]
    assert second["tasks"][0]["reason"] == "no such repository"


def test_a_part_leads_to_exactly_what_it_counts(client: Client, night: AppContext) -> None:
    parts = {part["topic"]: part for part in client.get("/api/brief").json["parts"]}
    query = urlsplit(parts["failed"]["address"]).query
    assert sorted(parse_qs(query)) == ["since", "status", "until"]
    submit(night, "one more")
    task = night.queue.claim("w").result()
    assert task is not None
    night.queue.finish(task.id, task.fence, Ending.REFUSED, reason="later").result()
    listing = client.get(f"/api/tasks?{query}").json
    assert (listing["total"], listing["counts"]["failed"]) == (3, 3)


def test_what_was_read_is_not_told_again_and_nothing_is_lost(client: Client, night: AppContext) -> None:
    seen = client.get("/api/brief").json
    submit(night, "it fails while its owner reads")
    task = night.queue.claim("w").result()
    assert task is not None
    night.queue.finish(task.id, task.fence, Ending.REFUSED, reason="later").result()
    marked = client.post("/api/brief/read", {"until": seen["until"]}).json
    assert marked == {"read_at": seen["until"], "before": None}
    again = client.get("/api/brief").json
    assert (again["since"], again["read_at"], again["failed"], again["landed"]) == (seen["until"],) * 2 + (1, 0)
    undone = client.post("/api/brief/read", {"until": seen["since"]}).json
    assert undone["before"] == seen["until"]
    assert client.get("/api/brief").json["failed"] == 4


def test_the_span_may_be_chosen(client: Client, night: AppContext) -> None:
    assert (
        client.get("/api/brief?since=today").json["failed"] + client.get("/api/brief?since=night").json["failed"] >= 3
    )
    later = to_text(night.clock() + timedelta(days=1))
    brief = client.get(f"/api/brief?since={quote(later)}").json
    assert from_text(brief["since"]) <= from_text(brief["until"])
    assert brief["line"] == "0 landed, 1 to read"
    for wrong in ("yesterday", "2026-11-25T25:00:00", "17"):
        assert "since" in client.get(f"/api/brief?since={wrong}").json["fields"]
