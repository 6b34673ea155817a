"""Causes of failures over the API: the owner answers a cause once, and all its tasks are tried again."""

from __future__ import annotations

from typing import Any

import pytest

from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Ending, Phase, Status
from nightshift.server.context import AppContext
from nightshift.server.routes.causes import MOST_CAUSES
from tests.support.app_context import Client
from tests.support.worked_task import claim, save, submit

AWAY = "the folder is not there"


def fail(context: AppContext, description: str, reason: str = AWAY, *, steps: bool = False, **more: object) -> int:
    """Create a task that was refused, at once or (with `steps`) after a finished step, and return its id."""
    number = submit(context, description, **more)
    task = claim(context)
    assert task.id == number
    if steps:
        save(context, task, AttemptState(phase=Phase.CODING, base="c0ffee" * 6, attempt=task.attempt))
    context.queue.finish(number, task.fence, Ending.REFUSED, reason=reason).result()
    return number


def causes(client: Client, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(f"/api/causes{query}").json["causes"]
    return rows


def retry(client: Client, cause: dict[str, Any], **sent: object) -> list[dict[str, Any]]:
    done: list[dict[str, Any]] = client.post(f"/api/causes/{cause['id']}/retry", sent).json["tasks"]
    return done


def test_all_tasks_of_a_cause_are_tried_again_and_no_others(client: Client, context: AppContext) -> None:
    first_task, second_task, other = fail(context, "a"), fail(context, "b"), fail(context, "c", "something else")
    first, second = causes(client)
    assert [task["task_id"] for task in first["tasks"]] == [first_task, second_task]
    done = retry(client, first)
    assert [(task["task_id"], task["ok"], task["as_task"]) for task in done] == [
        (first_task, True, first_task),
        (second_task, True, second_task),
    ]
    assert {context.queue.get(number).status for number in (first_task, second_task)} == {Status.QUEUED}
    assert causes(client) == [second]
    assert context.queue.get(other).status is Status.FAILED


def test_a_note_and_a_package_are_added_to_each_task(client: Client, context: AppContext) -> None:
    numbers = [fail(context, text, packages=["rich"]) for text in ("first", "second")]
    retry(client, causes(client)[0], note="  Use the new folder.  ", package="toolz")
    for number, text in zip(numbers, ("first", "second"), strict=True):
        spec = context.queue.get(number).spec
        remark = "A remark of the owner's, which holds where it differs: Use the new folder."
        assert (spec.description, spec.packages) == (f"{text}\n\n{remark}", ("rich", "toolz"))
    tasks = client.get("/api/tasks?q=new+folder").json["tasks"]
    assert sorted(task["task_id"] for task in tasks) == numbers


def test_one_that_waits_for_another_follows_it_unchanged(client: Client, context: AppContext) -> None:
    first = submit(context, "first")
    second = submit(context, "second", depends_on=[first])
    task = claim(context)
    context.queue.finish(first, task.fence, Ending.REFUSED, reason=AWAY).result()
    assert context.queue.get(second).ending is Ending.DEPENDENCY
    (cause,) = causes(client)
    assert cause["count"] == 2
    assert [task["ok"] for task in retry(client, cause, note="Here it is.")] == [True, True]
    assert (context.queue.get(first).status, context.queue.get(second).status) == (Status.QUEUED, Status.BLOCKED)
    assert context.queue.get(second).spec.description == "second"


def test_with_a_model_each_task_goes_on_as_a_fork(client: Client, context: AppContext) -> None:
    begun, never = fail(context, "begun", steps=True), fail(context, "never begun")
    row, other = retry(client, causes(client)[0], model="qwen2.5-coder:7b", note="Think.")
    assert (row["task_id"], row["ok"]) == (begun, True)
    fork = context.queue.get(row["as_task"])
    assert (fork.id > never, fork.spec.description.endswith("Think.")) == (True, True)
    assert (other["ok"], "no finished step" in other["error"]) == (False, True)
    assert context.queue.get(never).status is Status.FAILED


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"model": "gpt-9"}, "not one of the configured backends"),
        ({"package": "not a name"}, "package"),
        ({"package": "toolz", "model": "ollama"}, "give a `package` or a `model`"),
    ],
)
def test_what_cannot_settle_is_said_and_nothing_is_tried(
    client: Client, context: AppContext, sent: dict[str, str], why: str
) -> None:
    number = fail(context, "a", steps=True)
    refused = client.post(f"/api/causes/{causes(client)[0]['id']}/retry", sent)
    assert why in refused.text
    assert context.queue.get(number).status is Status.FAILED


def test_a_cause_that_is_settled_already_is_told(client: Client, context: AppContext) -> None:
    fail(context, "a")
    (cause,) = causes(client)
    retry(client, cause)
    again = client.post(f"/api/causes/{cause['id']}/retry", {})
    assert (again.status, "were retried" in again.json["error"]) == (409, True)


def test_of_many_causes_the_commonest_are_told_and_the_others_counted(client: Client, context: AppContext) -> None:
    words = [f"{'abcdefghij'[n // 10]}{'klmnopqrst'[n % 10]} is away" for n in range(MOST_CAUSES + 3)]
    for word in (*words, words[-1]):
        fail(context, word, word)
    answer = client.get("/api/causes").json
    assert (len(answer["causes"]), answer["more_causes"]) == (MOST_CAUSES, 3)
    assert (answer["causes"][0]["title"], answer["causes"][0]["count"]) == (words[-1], 2)
