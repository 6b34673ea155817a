"""Approvals through the API and on the pages."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Status
from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.asking import package, wait_for
from tests.support.worked_task import submit

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}\x1b[31m"


@pytest.fixture
def asked(context: AppContext) -> int:
    """Create two open questions of task 1, and return the id of the first."""
    submit(context, "Tell the moon")
    wait_for(context.queue, package("moonphase"), package("tidewave"))
    return context.queue.approvals()[0].id


def test_open_asks_are_listed_oldest_first(client: Client, asked: int) -> None:
    first, second = client.get("/api/approvals?open=1").json["approvals"]
    assert (first["approval_id"], first["task_id"], first["kind"], first["subject"], first["granted"]) == (
        *(asked, 1, "package", "package:moonphase", None),
    )
    assert first["question"] == "May the task use the package moonphase?"
    assert second["subject"] == "package:tidewave"
    assert client.get("/api/status").json["approvals"] == 0, "the status is the daemon's own word"


def test_decisions_let_the_task_go_on(client: Client, context: AppContext, asked: int) -> None:
    granted = client.post(f"/api/approvals/{asked}", {"granted": True})
    assert (granted.status, granted.json["granted"]) == (200, True)
    assert context.queue.get(1).status is Status.WAITING
    denied = client.post(f"/api/approvals/{asked + 1}", {"granted": False, "answer": "use math"})
    assert (denied.json["granted"], denied.json["answer"]) == (False, "use math")
    assert context.queue.get(1).status is Status.QUEUED
    assert client.get("/api/approvals?open=1").json == {"approvals": []}
    assert [row["granted"] for row in client.get("/api/approvals").json["approvals"]] == [True, False]
    assert client.get("/api/approvals?task=2").json == {"approvals": []}


def test_a_question_has_its_default_and_takes_an_answer(client: Client, context: AppContext) -> None:
    submit(context, "Serve it")
    port = Ask(kind=AskKind.QUESTION, subject="question:1", question="Which port?", default="8080")
    wait_for(context.queue, port, package("moonphase"))
    asked, other = client.get("/api/approvals?open=1").json["approvals"]
    waited = datetime.fromisoformat(asked["assumed_at"]) - datetime.fromisoformat(asked["asked_at"])
    assert (asked["default"], waited) == ("8080", timedelta(hours=4))
    assert (other["default"], other["assumed_at"]) == ("", None)
    for path in ("/task/1",):
        assert "8080" in client.get(path, Accept="text/html").text
    answered = client.post(f"/api/approvals/{asked['approval_id']}/answer", {"answer": " 80 "})
    assert (answered.status, answered.json["answer"], answered.json["assumed_at"]) == (200, "80", None)
    refused = client.post(f"/api/approvals/{other['approval_id']}/answer", {"answer": "yes"})
    assert (refused.status, "asks for a decision (package)" in refused.json["error"]) == (409, True)
    assert client.post("/api/approvals/99/answer", {"answer": "yes"}).status == 404
    assert client.post(f"/api/approvals/{asked['approval_id']}/answer", {"answer": "\t"}).status == 400


def test_what_is_not_there_or_was_decided_is_told_apart(client: Client, asked: int) -> None:
    assert client.post("/api/approvals/99", {"granted": True}).status == 404
    assert client.post(f"/api/approvals/{asked}", {"granted": True}).status == 200
    again = client.post(f"/api/approvals/{asked}", {"granted": False})
    assert (again.status, again.json["error"]) == (409, f"approval {asked} is already granted")
    assert client.get("/api/approvals?open=maybe").status == 400


def test_a_hostile_question_cannot_end_what_it_comes_in(client: Client, context: AppContext) -> None:
    submit(context, "x")
    question = Ask(kind=AskKind.QUESTION, subject="question:1", question=EVIL)
    wait_for(context.queue, package("x", EVIL), question)
    for granted in (False, True):
        for path in ("/", "/task/1", "/inbox"):
            text = client.get(path, Accept="text/html").text
            assert "<script>alert" not in text
            assert "<img src=x" not in text
            assert "\x1b" not in text
            assert "\\u003cscript>alert(1)" in text
        if not granted:
            context.queue.decide(context.queue.approvals()[0].id, True, EVIL).result()
