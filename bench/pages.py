"""Measures how soon each page is painted and live, and how soon requests are answered, after months of work.

    .venv/bin/python bench/pages.py [--tasks N] [--events N] [--loads N] [--requests N]

The home is one in which the real daemon worked for a night with a scripted model. It is copied by SQL until it contains
10,000 tasks and 100,000 events (`tests/support/long_home.py`); then the daemon runs on it. Chromium loads each page at
1440 by 900, several times in a fresh profile (cold: nothing is cached) and several times again in the same profile
(warm). “Painted” is the browser's own first contentful paint. “Live” is the time when the page has drawn all of its
data and listens to the stream. Both times count from the start of the navigation.

Then every address that the pages requested, every preloaded address and each list of the API is requested repeatedly
over one connection, and the times of the complete answers are printed.
"""

# ruff: noqa: E402  the path comes first
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import argparse
import http.client
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page

from nightshift.server.contract import ENDPOINTS
from nightshift.server.pages.page_table import PAGES
from tests.support.browser import LIVE, addresses, chromium, context_of
from tests.support.daemon import Daemon
from tests.support.long_home import lengthen
from tests.support.seeded_home import build, start

PAINT_MS, ANSWER_MS = 300.0, 200.0
# Stores the time when the page is first live: it listens to the stream, and nothing is loading any more.
_WATCH = f"""new MutationObserver((_, watcher) => {{
  if (!document.querySelector({LIVE!r}) || document.querySelector('[aria-busy=true]')) return;
  window.liveAt = performance.now();
  watcher.disconnect();
}}).observe(document, {{subtree: true, childList: true, attributes: true}});"""
_PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => {
  const found = list.getEntriesByName('first-contentful-paint')[0];
  if (found) done(found.startTime);
}).observe({type: 'paint', buffered: true}))"""
# Addresses that the pages do not request when they load: long pages, searches, filters and other sort orders.
MORE = (
    "/api/tasks?limit=500", "/api/tasks?q=total&limit=50", "/api/tasks?status=failed&limit=50", "/api/logs?limit=1000",
    "/api/logs?q=boundary&limit=250", "/api/logs?q=nothing-has-this&limit=250", "/api/logs?level=ERROR&limit=250",
    "/api/lessons?text=boundary", "/api/lessons?like=a+sum+that+is+wrong",
)  # fmt: skip


@contextmanager
def long_lived(tasks: int, events: int) -> Iterator[tuple[Daemon, dict[str, int]]]:
    """Yield a daemon on a home with this many tasks and events, and a map from outcomes to ids of tasks."""
    with tempfile.TemporaryDirectory(prefix="nightshift-pages-") as folder:
        snapshot = build(Path(folder) / "seeded").copied(Path(folder) / "snapshot")
        began = time.monotonic()
        counts = lengthen(snapshot.home / "db" / "agent_logs.sqlite", tasks=tasks, events=events)
        print(f"{counts[0]} tasks, {counts[1]} events, made in {time.monotonic() - began:.1f} s")
        with start(snapshot) as (daemon, _):
            yield daemon, dict(snapshot.tasks)


def loads(browser: Browser, daemon: Daemon, address: str, times: int) -> tuple[list[float], list[float], set[str]]:
    """Load a page cold and warm by turns; return the times in ms until it is painted and live, and the paths asked."""
    painted, live, asked = list[float](), list[float](), set[str]()
    for _ in range(times):
        with context_of(browser, daemon.url) as context:
            context.add_init_script(_WATCH)
            for _ in ("cold", "warm"):
                measurement = _load(context, address, asked)
                painted.append(measurement[0])
                live.append(measurement[1])
    return painted, live, asked


def _load(context: BrowserContext, address: str, asked: set[str]) -> tuple[float, float]:
    page: Page = context.new_page()
    page.on("request", lambda request: asked.add(_path(request.url)))
    page.goto(address)
    painted = float(page.evaluate(_PAINTED))
    live = float(page.wait_for_function("() => window.liveAt").json_value())
    page.close()
    return painted, live


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def answers(daemon: Daemon, address: str, times: int) -> tuple[list[float], int, int]:
    """Return the sorted times of the answers in ms, and the last answer's status and length."""
    port = urlsplit(daemon.url).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    took = []
    for _ in range(times):
        begun = time.perf_counter()
        connection.request("GET", address)
        answer = connection.getresponse()
        body = answer.read()
        took.append((time.perf_counter() - begun) * 1000)
    connection.close()
    return sorted(took), answer.status, len(body)


def lists(task: int, report: str) -> set[str]:
    """Return the GET addresses of the API without parameters, the preloaded addresses of the pages, and `MORE`."""
    paths = {each.path for each in ENDPOINTS if each.method == "GET" and not each.parameters and each.view}
    preloaded = {address.format(task_id=task, name=report) for page in PAGES for address in page.preload}
    return paths | preloaded | set(MORE)


def describe(label: str, value: float, aim: float) -> str:
    """Format a figure, with a mark if it is above its target."""
    return f"{label} {value:6.0f}{'' if value <= aim else ' !'}"


def main() -> None:
    """Measure all pages and addresses, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--requests", type=int, default=100)
    given = parser.parse_args()
    with long_lived(given.tasks, given.events) as (daemon, tasks), chromium() as browser:
        where = addresses(daemon.home, tasks["second_try"])
        asked = lists(tasks["second_try"], next(each for each in where if "/reports/" in each).rsplit("/", 1)[1])
        print(f"\npages, ms (aim: first paint under {PAINT_MS:.0f}); load average {os.getloadavg()[0]:.1f}")
        for address in where[1:]:
            painted, live, seen = loads(browser, daemon, address, given.loads)
            asked |= {each for each in seen if each.startswith("/api/") and "/stream" not in each}
            cold, warm = statistics.median(painted[::2]), statistics.median(painted[1::2])
            first = f"{describe('painted cold', cold, PAINT_MS)} {describe('warm', warm, PAINT_MS)}"
            live_ms = [statistics.median(live[::2]), statistics.median(live[1::2])]
            print(f"  {address:26} {first}   live cold {live_ms[0]:6.0f} warm {live_ms[1]:6.0f}")
        print(f"\nrequests, ms (aim: 99 of 100 under {ANSWER_MS:.0f})")
        for address in sorted(asked):
            took, status, length = answers(daemon, address, given.requests)
            p99 = took[min(len(took) - 1, int(len(took) * 0.99))]
            middle = statistics.median(took)
            print(f"  {status} {describe('p99', p99, ANSWER_MS)}  p50 {middle:6.1f} {length:8} B  {address}")


if __name__ == "__main__":
    main()
