"""The search of the command palette.

A hit contains all words. The search returns a few hits of each kind, nothing secret, and no pages of results.
"""

from __future__ import annotations

from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.worked_task import submit


def test_tasks_are_found_by_words_in_any_order_and_by_number(client: Client, context: AppContext) -> None:
    wanted = submit(context, "Teach the parser about quoted commas")
    submit(context, "Teach the lexer about commas")
    answer = client.get("/api/search?q=commas+parser").json
    assert [hit["task_id"] for hit in answer["tasks"]] == [wanted]
    assert client.get(f"/api/search?q=%23{wanted}").json["tasks"][0]["task_id"] == wanted


def test_without_words_the_newest_tasks_are_there_and_nothing_else(client: Client, context: AppContext) -> None:
    ids = [submit(context, f"Task number {n}") for n in range(12)]
    answer = client.get("/api/search").json
    assert [hit["task_id"] for hit in answer["tasks"]] == ids[:-9:-1]
    assert answer["settings"] == []
