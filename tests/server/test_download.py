"""The log as a file: filtered, streamed page by page, without secrets."""

from __future__ import annotations

import json

from nightshift.core.events import Event, Kind, Level
from nightshift.server.context import AppContext
from tests.support.app_context import Client, fill


def test_json_lines_are_the_lines_of_the_api_in_order(context: AppContext, client: Client) -> None:
    fill(context, 1100)
    answer = client.get("/api/logs/download")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"].startswith('attachment; filename="nightshift-')
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["id"] for line in lines] == list(range(1, 1101))
    (newest,) = client.get("/api/logs?limit=1").json["events"]
    assert lines[-1] == newest


def test_the_filters_and_the_ends_hold(context: AppContext, client: Client) -> None:
    for number in range(1, 41):
        level = Level.ERROR if number % 2 else Level.INFO
        context.events.emit(Event(kind=Kind.REMARK, level=level, message=f"number {number}", worker=f"w-{number % 3}"))
    context.events.catch_up().result()
    answer = client.get("/api/logs/download?level=ERROR&worker=w-1&after=5&before=24&q=number+1%7C2&regex=1")
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == [13, 19]
    assert client.get("/api/logs/download?q=nothing").text == ""
    assert client.get("/api/logs/download?q=(&regex=1").status == 400
