"""The search of the command palette: all words must be there, a few of each kind, nothing secret, and no page of it."""

from __future__ import annotations

from nightshift.core.events import Emitter, Kind
from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.worked_task import submit, work_on


def test_tasks_are_found_by_words_in_any_order_and_by_number(client: Client, context: AppContext) -> None:
    wanted = submit(context, "Teach the parser about quoted commas")
    submit(context, "Teach the lexer about commas")
    found = client.get("/api/search?q=commas+parser").json
    assert [hit["task_id"] for hit in found["tasks"]] == [wanted]
    assert client.get(f"/api/search?q=%23{wanted}").json["tasks"][0]["task_id"] == wanted


def test_without_words_the_newest_tasks_are_there_and_nothing_else(client: Client, context: AppContext) -> None:
    ids = [submit(context, f"Task number {n}") for n in range(12)]
    found = client.get("/api/search").json
    assert [hit["task_id"] for hit in found["tasks"]] == ids[:-9:-1]
    assert (found["lines"], found["calls"], found["settings"]) == ([], [], [])


def test_lines_of_the_log_are_found_newest_first(client: Client, context: AppContext) -> None:
    for n in range(7):
        Emitter(context.events.emit).emit(Kind.REMARK, f"100% of batch {n} is through")
    context.database.write(lambda _: None).result()  # behind them
    found = client.get("/api/search?q=BATCH+100%25").json
    assert [line["message"][14:15] for line in found["lines"]] == ["6", "5", "4", "3", "2"]
    assert client.get("/api/search?q=100_").json["lines"] == []


def test_prompts_and_replies_are_found_once_for_each_step(client: Client, context: AppContext) -> None:
    submit(context, "Write add")
    task = work_on(context)
    found = client.get("/api/search?q=return+add").json
    assert found["calls"]
    assert {call["task_id"] for call in found["calls"]} == {task.id}
    places = [(call["attempt"], call["step_no"]) for call in found["calls"]]
    assert len(set(places)) == len(places)
    assert "return a" in found["calls"][0]["excerpt"]
