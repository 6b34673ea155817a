"""Sending a message to a task over the API: its effect on the task and its model, and the refusals."""

from __future__ import annotations

import pytest

from nightshift.core.dialogue import ModelRequest
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import MAX_MESSAGE_CHARS
from nightshift.server.context import AppContext
from tests.models.test_call import Script
from tests.support.app_context import Client


def submit(client: Client) -> int:
    number: int = client.post("/api/task", {"description": "x"}).json["task_id"]
    return number


def asking(context: AppContext, number: int) -> None:
    """Simulate a model that is currently writing a reply for the task."""
    context.live.begin(ModelRequest(phase=Phase.CODING, messages=(), task_id=number), Script([]))


def test_the_answer_tells_whether_a_model_is_interrupted(client: Client, context: AppContext) -> None:
    number = submit(client)
    first = client.post(f"/api/task/{number}/say", {"text": "Use csv."})
    assert first.status == 200
    assert first.json == {"message_id": 1, "task_id": number, "status": "queued", "interrupted": False}
    asking(context, number + 1)
    assert not client.post(f"/api/task/{number}/say", {"text": "a"}).json["interrupted"]
    asking(context, number)
    assert client.post(f"/api/task/{number}/say", {"text": "b"}).json["interrupted"]
    assert not client.post(f"/api/task/{number}/say", {"text": "c", "interrupt": False}).json["interrupted"]
    assert [message.interrupts for message in context.queue.list_messages(number)] == [True, True, True, False]


def test_what_was_said_stands_in_the_timeline(client: Client, context: AppContext) -> None:
    number = submit(client)
    client.post(f"/api/task/{number}/say", {"text": "Use <b>csv</b>."})
    context.mask.learn(["hunter2-hunter2"])
    client.post(f"/api/task/{number}/say", {"text": "and hunter2-hunter2"})
    course = client.get(f"/api/task/{number}/timeline").json
    assert [(message["text"], message["attempt"], message["interrupts"]) for message in course["said"]] == [
        ("Use <b>csv</b>.", 0, True),
        ("and ***", 0, True),
    ]
    assert [mark["event"] for mark in course["marks"]] == ["owner_said", "owner_said"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "  "}, "text"),
        ({"text": "x" * (MAX_MESSAGE_CHARS + 1)}, "text"),
        ({"text": "x", "interrupt": "yes"}, "interrupt"),
        ({"text": "x", "loud": True}, "loud"),
    ],
)
def test_a_fault_is_named_by_its_field(client: Client, context: AppContext, body: object, field: str) -> None:
    number = submit(client)
    refused = client.post(f"/api/task/{number}/say", body)
    assert (refused.status, refused.json["error"].partition(":")[0]) == (400, field)
    assert context.queue.list_messages(number) == ()


def test_a_task_that_has_ended_refuses_and_one_that_is_not_there_is_not_found(client: Client) -> None:
    number = submit(client)
    client.post(f"/api/task/{number}/cancel")
    refused = client.post(f"/api/task/{number}/say", {"text": "x"})
    assert refused.status == 409
    assert f"retry {number}" in refused.json["error"]
    assert client.post("/api/task/999/say", {"text": "x"}).status == 404
