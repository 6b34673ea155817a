"""The dashboard's cards in states that a real daemon is in rarely, or only for moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from nightshift.core.events import Event, Kind, Level
from nightshift.core.status import DaemonStatus, ExtraState, ExtraStatus, WorkerStatus
from nightshift.core.tasks.states import DaemonState, Phase
from nightshift.server.context import AppContext
from tests.support.app_context import Client, make_desk
from tests.support.browser import Watch, open_live
from tests.support.worked_task import submit

LINE = "suite judged: 11 of 14 tests passed <b>3</b> failed"


class Says:
    """A stand-in for the daemon's reported state; pages read a changed state at the next event."""

    def __init__(self) -> None:
        self.now = DaemonStatus(state=DaemonState.RUNNING, uptime_s=3725.0, version="0.1.0")

    def __call__(self) -> DaemonStatus:
        return self.now

    def change(self, app_context: AppContext, **values: object) -> None:
        """Change the reported state, and emit an event so that pages read it."""
        self.now = replace(self.now, **values)  # type: ignore[arg-type]  # fields of the status
        app_context.events.emit(Event(kind=Kind.STATE_SAVED, level=Level.DEBUG, message="saved"))


@pytest.fixture
def says() -> Says:
    return Says()


@pytest.fixture
def app_context(tmp_path: Path, says: Says) -> Iterator[AppContext]:
    desk = make_desk(tmp_path)
    yield replace(desk, status=says)
    desk.database.close()


@pytest.fixture
def url(served: Client) -> str:
    return served.url


@pytest.fixture
def page(watched: tuple[Page, Watch]) -> Page:
    return open_live(watched[0], "/dashboard")


def worker(page: Page, name: str) -> Locator:
    return page.locator(f"[data-worker={name}]")


def test_a_worker_is_shown_at_its_work(page: Page, app_context: AppContext, says: Says) -> None:
    number = submit(app_context, "Fix the sign\nin the tax table")
    begun = datetime.now(UTC) - timedelta(minutes=12)
    busy = WorkerStatus(
        name="worker-1", task_id=number, description="Fix the sign", phase=Phase.TESTING, iteration=4, attempt=2,
        since=begun, last_line="asked the model", done=12, failed=1,
    )  # fmt: skip
    says.change(app_context, workers=(busy, WorkerStatus(name="worker-2")))
    card = worker(page, "worker-1")
    expect(card.get_by_role("link", name=f"#{number} Fix the sign")).to_have_attribute("href", f"/task/{number}")
    expect(card.get_by_role("list", name="in testing").locator(".now")).to_have_text("testing")
    for text in ("iteration 4", "attempt 2", "12 min", "asked the model", "12 done", "1 failed"):
        expect(card).to_contain_text(text)
    expect(worker(page, "worker-2")).to_contain_text("idle")
    shown = card.locator(".time").inner_text()
    expect(card.locator(".time")).not_to_have_text(shown)
    event = Event(kind=Kind.SUITE_JUDGED, level=Level.INFO, message=LINE, worker="worker-1", task_id=number)
    app_context.events.emit(event)
    expect(card.locator(".line")).to_have_text(LINE)


def test_an_optional_package_is_installed_before_the_owners_eyes(
    page: Page, app_context: AppContext, says: Says
) -> None:
    embedder = ExtraStatus(name="embedder", purpose="finding <b>", megabytes=1400, state=ExtraState.MISSING)
    docker = ExtraStatus(name="docker", purpose="Docker as the sandbox", megabytes=5, state=ExtraState.MISSING)
    says.change(app_context, extras=(embedder, docker))
    card, row = page.get_by_role("region", name="Optional packages"), page.locator("[data-extra=embedder]")
    expect(row).to_contain_text("about 1.4 GB")
    expect(row).to_contain_text("For finding <b>")
    with page.expect_response("**/api/extra/embedder/install") as answered:
        row.get_by_role("button", name="Install").click()
    assert answered.value.status == 200
    says.change(app_context, extras=(replace(embedder, state=ExtraState.INSTALLING, detail="beginning"), docker))
    expect(row.get_by_role("status")).to_have_text("beginning")
    expect(row.get_by_role("button")).to_be_disabled()
    # The page must follow the installation by itself: this test emits no event, and a hidden page pauses its slow
    # polling of the status.
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    says.now = replace(says.now, extras=(replace(says.now.extras[0], detail="35 of 215 MB downloaded"), docker))
    expect(row.get_by_role("status")).to_have_text("35 of 215 MB downloaded")
    says.now = replace(
        says.now, extras=(replace(embedder, state=ExtraState.FAILED, detail="uv failed: no room"), docker)
    )
    expect(row.get_by_text("uv failed: no room")).to_have_class("bad")
    expect(row.get_by_role("button", name="Try again")).to_be_enabled()
    says.change(app_context, extras=(replace(embedder, state=ExtraState.INSTALLED), docker))
    expect(row).to_have_count(0)
    says.change(app_context, extras=())
    expect(card).to_have_count(0)


def version(page: Page) -> str:
    return str(page.locator("#icon").get_attribute("href")).split("/")[-3]
