"""Makes the screenshots of the dashboard in docs/screenshots: every page, light and dark, wide and narrow.

    .venv/bin/python scripts/screenshots.py [PAGE …]

The home is one in which the real daemon worked for a night with a scripted model. Some nights before that night are
copies, made by SQL. A task is running while the screenshots are taken. Each screenshot shows the first screen of a
page. If pages are named, only their screenshots are made. The screenshots differ from run to run only in times and
figures.
"""

# ruff: noqa: E402  the path comes first
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page

from nightshift.core.tasks.states import Status
from nightshift.remote.hub.nodes import nodes
from nightshift.server.pages.page_table import PAGES
from tests.support.answers import job
from tests.support.browser import LIVE, NARROW, WIDE, chromium, context_of, draw
from tests.support.daemon import Daemon, settings_for, until
from tests.support.light_node import light_node
from tests.support.long_home import lengthen
from tests.support.seeded_home import SeededDaemon, build, start
from tests.support.temporal import TemporalServer
from tests.support.wire_server import WireServer

TO = ROOT / "docs" / "screenshots"
LOOKS = {"wide-light": (WIDE, False), "wide-dark": (WIDE, True), "narrow-light": (NARROW, False),
         "narrow-dark": (NARROW, True)}  # fmt: skip


@contextmanager
def busy_home() -> Iterator[SeededDaemon]:
    """Yield a daemon after months of work, with a running task."""
    with tempfile.TemporaryDirectory(prefix="seeded-") as folder:
        snapshot = build(Path(folder) / "seeded").copied(Path(folder) / "snapshot")
        lengthen(snapshot.home / "db" / "agent_logs.sqlite", tasks=120, events=1, days=6)
        with start(snapshot) as (daemon, server):
            server.fail_next("hang", 1, phase="CODING", about="job_12")
            running = daemon.submit(**job(12))
            until(lambda: daemon.get(f"/api/task/{running}")["status"] == "running", 120)
            until(lambda: any(request.fault == "hang" for request in server.requests), 120)
            yield SeededDaemon(snapshot=snapshot, daemon=daemon, server=server)


HUB_TASKS = {
    "Add a health check": None, "Write the changelog of the week": None, "Translate the imprint": None,
    "Show prices with their tax": Status.DONE, "Read orders from CSV as well as JSON": Status.DONE,
    "Let the basket keep what was in it over a restart": Status.FAILED, "Sort invoices by their due date": Status.DONE,
}  # fmt: skip
"""The tasks on the hub's page: their titles, and their endings. None means that the task waits or runs."""


@contextmanager
def hub_home() -> Iterator[Daemon]:
    """Yield a daemon that is one of three nodes of a hub."""
    with tempfile.TemporaryDirectory(prefix="hub-") as name, WireServer() as models:
        folder = Path(name)
        labels = ["go", "gpu", "linux", "python", "repo:shop"]
        says = {"url": "http://rack-01.example:5000", "version": "0.1.0", "busy": 1, "state": "working"}
        with TemporalServer(folder / "temporal.db", namespaces=1) as server:
            url, shop = server.ready(), "git@example.org:shop.git"
            with light_node(url, "laptop", id="l", labels=["linux", "python"], slots=2, version="0.1.0"):
                pass
            with light_node(url, "rack-01", id="r", labels=labels, **says) as rack:
                for number, (description, status) in enumerate(HUB_TASKS.items(), 100):
                    rack.submit(description, needs=labels, priority=5 if status else 1, repository=shop, share=shop)
                    if status:
                        reason = "" if status is Status.DONE else "three iterations without a passing test"
                        rack.end(rack.take(number), status, reason=reason)
                rack.take(200)
                settings = settings_for(models, HUB_URL=url, NODE_NAME="atelier")
                with Daemon(folder / "home", settings) as daemon:
                    until(lambda: "atelier" in {node.name for node in nodes(rack.connection) if node.is_up}, 60)
                    until(lambda: daemon.get("/healthz")["state"] == "idle", 60)
                    yield daemon


def addresses(seeded: SeededDaemon) -> dict[str, str]:
    """Return the address of each page."""
    report = max((seeded.snapshot.home / "reports").glob("*.md")).stem
    task = seeded.task("second_try")
    return {page.name: page.path.format(task_id=task, name=report) for page in PAGES if not page.needs_hub}


def shoot(browser: Browser, url: str, pages: dict[str, str]) -> None:
    """Make all screenshots of these pages; `pages` maps the names of pages to their paths."""
    for look, (size, dark) in LOOKS.items():
        with context_of(browser, url, size=size, dark=dark) as context:
            page = context.new_page()
            for name, path in pages.items():
                page.goto(path)
                page.wait_for_selector(LIVE, state="attached")
                draw(page)
                _keep(page, TO / f"{name}-{look}.png")


def _keep(page: Page, path: Path) -> None:
    page.evaluate("() => document.fonts.ready")
    path.write_bytes(page.screenshot(animations="disabled", caret="hide"))


def main() -> None:
    """Make the screenshots."""
    names = [page.name for page in PAGES]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"one of {', '.join(names)}; without any, all")
    chosen = parser.parse_args().pages
    if unknown := set(chosen) - set(names):
        parser.error(f"there is no page {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    TO.mkdir(exist_ok=True)
    chosen = chosen or names
    of_hub = {page.name: page.path for page in PAGES if page.needs_hub and page.name in chosen}
    with chromium("--force-color-profile=srgb", "--lang=en-GB") as browser:
        if set(chosen) - set(of_hub):
            with busy_home() as seeded:
                shoot(browser, seeded.url, {n: at for n, at in addresses(seeded).items() if n in chosen})
        if of_hub:
            with hub_home() as daemon:
                shoot(browser, daemon.url, of_hub)
    print(f"{len(LOOKS) * len(chosen)} pictures in {TO}")


if __name__ == "__main__":
    main()
