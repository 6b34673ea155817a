"""What a browser shows of what happened is what the owner is told of in other ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.events import Event, Kind
from nightshift.server.settings_port import SettingsPort
from tests.support.app_context import Client, make_desk, serving


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    context = make_desk(tmp_path)
    port = SettingsPort(notify_on=lambda: frozenset({"checkpoint", "needs_you"}))
    with serving(replace(context, settings=port)) as client:
        context.events.emit(Event(kind=Kind.BACKUP_FAILED, message="no room"))
        context.events.emit(Event(kind=Kind.CHECKPOINT, message="the report is written"))
        context.events.emit(Event(kind=Kind.ASKED, message="May it?", task_id=1))
        context.database.write(lambda _: None).result()
        yield client
    context.database.close()


def test_only_the_kinds_that_are_wanted_are_told_and_from_where_on(client: Client) -> None:
    found = client.get("/api/notices?after=0").json
    assert [(each["kind"], each["task_id"]) for each in found["notices"]] == [("checkpoint", None), ("needs_you", 1)]
    assert found["notices"][0]["message"] == "the report is written"
    behind = client.get(f"/api/notices?after={found['last_id']}").json
    assert behind == {"notices": [], "last_id": found["last_id"]}


def test_without_a_place_nothing_is_told_but_where_to_begin(client: Client) -> None:
    assert client.get("/api/notices").json == {"notices": [], "last_id": 3}
