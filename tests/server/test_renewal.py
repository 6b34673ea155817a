"""Reloading the settings over the API."""

from __future__ import annotations

from typing import cast

from nightshift.server.context import AppContext
from tests.support.app_context import Client, Reloads


def test_each_fault_is_a_field_of_its_own(client: Client, context: AppContext) -> None:
    cast("Reloads", context.reload).faults = ["worker_count (WORKER_COUNT): too many", "nothing at all"]
    got = client.request("POST", "/api/reload")
    assert got.status == 422
    assert got.json["fields"] == {"worker_count": "too many", "settings": "nothing at all"}
