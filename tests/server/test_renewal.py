"""Reloading the settings over the API."""

from __future__ import annotations

from typing import cast

from nightshift.server.context import AppContext
from tests.support.app_context import Client, Reloads


def test_what_changed_and_what_waits_is_answered_by_name(client: Client) -> None:
    got = client.request("POST", "/api/reload")
    assert (got.status, got.json) == (
        200,
        {
            "changed": ["worker_count"],
            "later": [{"name": "flask_port", "holds": "5000"}],
            "overruled": ["log_keep"],
        },
    )


def test_each_fault_is_a_field_of_its_own(client: Client, context: AppContext) -> None:
    cast("Reloads", context.reload).faults = ["worker_count (WORKER_COUNT): too many", "nothing at all"]
    got = client.request("POST", "/api/reload")
    assert got.status == 422
    assert got.json["fields"] == {"worker_count": "too many", "settings": "nothing at all"}
