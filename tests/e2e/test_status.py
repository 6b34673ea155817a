"""The status of a home shows the same database facts whether its daemon runs or not."""

from __future__ import annotations

import json
from typing import Any

from tests.support.answers import job
from tests.support.daemon import Daemon

STORED = ("queue", "approvals", "saved", "holds", "unread", "version")


def describe(daemon: Daemon) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(daemon.cli("--status", "--json").stdout)
    return status


def test_what_the_database_knows_is_shown_with_the_daemon_up_and_down(daemon: Daemon) -> None:
    daemon.wait(daemon.submit(**job(1)))
    daemon.ask("POST", "/api/pause", {"reason": "lunch"})
    daemon.submit(**job(2))
    daemon.submit(**job(3), depends_on=[2])
    up, api = describe(daemon), daemon.get("/api/status")
    assert {name: up[name] for name in STORED} == {name: api[name] for name in STORED}
    daemon.stop()
    down = describe(daemon)
    assert (up["state"], down["state"]) == ("paused", "stopped")
    assert {name: up[name] for name in STORED} == {name: down[name] for name in STORED}
    assert (down["queue"]["done"], down["queue"]["queued"], down["queue"]["blocked"]) == (1, 1, 1)
    assert (down["unread"], down["holds"][0]["reason"]) == (1, "lunch")
    assert up.keys() == down.keys() == api.keys()
