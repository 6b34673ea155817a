"""The owner's inbox over the API: waiting questions, several decisions at once, who decided, and commit sizes."""

from __future__ import annotations

from datetime import timedelta

from nightshift.core.clock import utc_now
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Status
from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.asking import package, wait_for
from tests.support.worked_task import submit

PORT = Ask(kind=AskKind.QUESTION, subject="question:1", question="Which port?", default="8080")


def test_several_are_decided_at_once_and_what_cannot_be_is_told(client: Client, context: AppContext) -> None:
    for number in range(2):
        submit(context, f"task {number}")
        wait_for(context.queue, package(f"moonphase{number}"), PORT)
    context.queue.decide(1, True).result()
    got = client.post("/api/decisions", {"approvals": [1, 2, 3, 4, 3, 99], "granted": True, "remark": "go on"}).json
    assert [(row["approval_id"], row["answer"]) for row in got["decided"]] == [(2, "8080"), (3, "go on"), (4, "8080")]
    assert [(row["approval_id"], row["why"].split(";")[0]) for row in got["refused"]] == [
        (1, "approval 1 is already granted"), (99, "there is no approval 99"),
    ]  # fmt: skip
    assert {context.queue.get(number).status for number in (1, 2)} == {Status.QUEUED}


def test_decisions_are_listed_newest_first_with_who_and_when(client: Client, context: AppContext) -> None:
    for _ in range(3):
        submit(context, "x")
        wait_for(context.queue, PORT)
    client.post("/api/approvals/1", {"granted": False, "answer": "no port"})
    context.queue.assume(utc_now() + timedelta(days=1)).result()
    page = client.get("/api/decisions?limit=2").json
    assert [row["approval_id"] for row in page["decisions"]] == [3, 2]
    assert {(row["answered_by"], row["answer"]) for row in page["decisions"]} == {("assumed", "8080")}
    rest = client.get(f"/api/decisions?limit=2&after={page['next_after']}").json
    (denied,) = rest["decisions"]
    assert (denied["answered_by"], denied["granted"], denied["answer"]) == ("owner", False, "no port")
    assert (denied["answered_at"] >= denied["asked_at"], rest["next_after"]) == (True, None)
