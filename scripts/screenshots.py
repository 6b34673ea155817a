"""Makes the pictures of the dashboard in docs/screenshots: every page, light and dark, wide and narrow.

    .venv/bin/python scripts/screenshots.py [PAGE …]

The home behind them is one in which the real daemon worked for a night with a scripted model, and for some nights
before that, copied by SQL; a task is being worked on while the pictures are taken. The page of the hub is that of a
daemon which is one of three nodes; the two others only say that they are. Pages are shot from the top, as high
as a screen; those named alone are made anew. Pictures differ from run to run in times and figures, not in what they
show.
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

from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.remote.hub.nodes import Node, join, nodes
from nightshift.remote.hub.queue import HubQueue, Result
from nightshift.server.pages.page_table import PAGES
from tests.support.answers import job
from tests.support.browser import LIVE, NARROW, WIDE, chromium, context_of, drawn
from tests.support.daemon import Daemon, settings_for, until
from tests.support.long_home import lengthen
from tests.support.postgres import EMBEDDED, PostgresServer, hub
from tests.support.seeded_home import SeededDaemon, built, started
from tests.support.wire_server import WireServer

TO = ROOT / "docs" / "screenshots"
LOOKS = {"wide-light": (WIDE, False), "wide-dark": (WIDE, True), "narrow-light": (NARROW, False),
         "narrow-dark": (NARROW, True)}  # fmt: skip


@contextmanager
def busy_home() -> Iterator[SeededDaemon]:
    """A daemon after months of work, with a task in the making."""
    with tempfile.TemporaryDirectory(prefix="seeded-") as folder:
        snapshot = built(Path(folder) / "seeded").copied(Path(folder) / "snapshot")
        lengthen(snapshot.home / "db" / "agent_logs.sqlite", tasks=120, events=1, days=6)
        with started(snapshot) as (daemon, server):
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
"""The titles of the tasks on the hub's page, and how each task ended: None waits or runs."""


@contextmanager
def hub_home() -> Iterator[Daemon]:
    """A daemon that is one of three nodes."""
    with tempfile.TemporaryDirectory(prefix="hub-") as name, WireServer() as models:
        folder = Path(name)
        with PostgresServer(EMBEDDED, folder / "postgres") as server, hub(url := server.database()) as connections:
            labels = ("go", "gpu", "linux", "python", "repo:shop")
            address = "http://rack-01.example:5000"
            join(connections, Node(id="r", name="rack-01", labels=labels, slots=4, url=address, version="0.1.0"))
            join(connections, Node(id="l", name="laptop", labels=("linux", "python"), slots=2, version="0.1.0"))
            rack = HubQueue(connections, "r", 3600)
            rack.beat([], busy=1, state="working")
            for description, status in HUB_TASKS.items():
                spec = TaskSpec(description=description, needs=("gpu",), priority=5 if status else 1)
                rack.submit(spec, repository="git@example.org:shop.git")
            for number, status in enumerate(filter(None, HUB_TASKS.values()), 100):
                (claim,) = rack.claim()
                rack.adopted(claim.held, number)
                ending = Ending.COMMITTED if status is Status.DONE else Ending.ERROR
                reason = "" if status is Status.DONE else "three iterations without a passing test"
                rack.finish(claim.held, Result(status=status, ending=ending, reason=reason))
            (claim,) = rack.claim()
            rack.adopted(claim.held, 200)
            settings = settings_for(models, HUB_URL=url, NODE_NAME="atelier")
            with Daemon(folder / "home", settings) as daemon:
                until(lambda: "atelier" in {one.name for one in nodes(connections) if one.is_up}, 60)
                until(lambda: daemon.get("/healthz")["state"] == "idle", 60)
                yield daemon


def addresses(seeded: SeededDaemon) -> dict[str, str]:
    """Return the address of each page."""
    report = max((seeded.snapshot.home / "reports").glob("*.md")).stem
    task = seeded.task("second_try")
    return {page.name: page.path.format(task_id=task, name=report) for page in PAGES if not page.needs_hub}


def shoot(browser: Browser, url: str, pages: dict[str, str]) -> None:
    """Make all pictures of these pages, name to path."""
    for look, (size, dark) in LOOKS.items():
        with context_of(browser, url, size=size, dark=dark) as context:
            page = context.new_page()
            for name, path in pages.items():
                page.goto(path)
                page.wait_for_selector(LIVE, state="attached")
                drawn(page)
                _kept(page, TO / f"{name}-{look}.png")


def _kept(page: Page, path: Path) -> None:
    page.evaluate("() => document.fonts.ready")
    path.write_bytes(page.screenshot(animations="disabled", caret="hide"))


def main() -> None:
    """Make the pictures."""
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
