"""A daemon restarts under open pages: the pages report the break and reconnect, and no line is missing or doubled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.answers import job
from tests.support.browser import LIVE, Watch, draw, hear, open_live
from tests.support.daemon import Daemon
from tests.support.seeded_home import SeededDaemon, share, start

SHOWN = "() => [...document.querySelectorAll('#lines .line')].map((each) => Number(each.id.slice(1)))"
LOST = r"^failed GET .*net::ERR_"  # requests that were sent while no daemon answered


@pytest.fixture
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededDaemon]:
    """Run a daemon that keeps its port when it restarts."""
    snapshot = share(tmp_path_factory).copied(tmp_path_factory.mktemp("restarted") / "snapshot")
    with start(snapshot) as (daemon, server):
        daemon.settings["FLASK_PORT"] = daemon.url.rsplit(":", 1)[1]
        yield SeededDaemon(snapshot=snapshot, daemon=daemon, server=server)


def ids(daemon: Daemon) -> list[int]:
    events = daemon.get("/api/logs?limit=1000")["events"]
    return [event["id"] for event in events]


def test_the_log_of_a_daemon_that_was_killed_goes_on_without_gap_or_double(
    watched: tuple[Page, Watch], seeded: SeededDaemon
) -> None:
    (page, watch), daemon = watched, seeded.daemon
    watch.allow(LOST)
    open_live(page, "/logs")
    draw(page)
    first = ids(daemon)[0]
    daemon.kill()
    expect(page.get_by_text("The daemon does not answer.")).to_be_visible()
    assert "✕" in page.title()
    daemon.start()
    page.wait_for_selector(LIVE, state="attached")
    expect(page.get_by_text("The daemon does not answer.")).to_have_count(0)
    expect(page.get_by_text("The connection was lost for").first).to_be_visible()
    daemon.wait(daemon.submit(**job(21)), within_s=120)
    hear(page, lambda: page.evaluate(SHOWN) == [each for each in ids(daemon) if each >= first])
