"""Times every page and every GET of the API on a home with many tasks, and the report of a week.

    .venv/bin/python bench/year_pages.py HOME [--copy] [--repeat 3] [--most-ms 300] [--only TEXT] [--reports 1]
        [--set NAME=VALUE …] [--out FILE]

HOME is a home such as `bench/year.py` makes. The real daemon is started on HOME (with `--copy`, on a copy of HOME),
without work to do. The addresses are those of the pages, those of the API except streams, downloads and verifications,
and some searches and filters; parameters are filled with the newest task, commit and lesson. `bench/pages.py` times
what a browser shows.

For each address, a line of JSON is printed. It has the status, the number of bytes, the milliseconds of the first
answer (which includes imports and empty caches), the milliseconds of the fastest later answer, and the milliseconds of
the daemon's processor time (the mean of the repeats; the kernel counts in steps of 10 ms). The exit code is 1 if an
address takes more than `--most-ms` of processor time or answers with an error.
"""

# ruff: noqa: E402  the path comes first: this folder's queue.py would hide the standard library's
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import argparse
import json
import re
import shutil
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from bench.overhead import processors
from nightshift.server.contract import ENDPOINTS
from nightshift.server.pages.page_table import PAGES
from tests.support.daemon import Daemon, settings_for
from tests.support.wire_server import WireServer

MORE = (
    "/api/commits?limit=100&order=risk&unread=1", "/api/commits?unread=1&limit=50", "/api/commits?limit=500",
    "/api/tasks?limit=50&sort=cost", "/api/tasks?limit=50&sort=ended&status=done%2Cfailed%2Ccancelled",
    "/api/tasks?limit=50&q=above", "/api/tasks?limit=50&status=failed", "/api/logs?limit=250",
    "/api/logs?limit=250&level=ERROR", "/api/logs?limit=250&q=nosuchword", "/api/search?q=above_12",
    "/api/search?q=nosuchword", "/api/brief?since=night", "/api/brief?since=2025-01-01T00:00:00Z",
    "/api/causes?since=2025-01-01T00:00:00Z", "/api/lessons?limit=50", "/api/decisions?limit=20",
    "/api/approvals?open=1", "/api/reports?limit=20",
)  # fmt: skip
"""Addresses with searches, filters and sort orders."""
NOT_TIMED = re.compile("resolve$|stream|export|download|verif|/hub|/file$|/repositories/settings$")
"""Addresses whose answers do not end, read the whole database, run something, or need data that a home may not have."""
OFF = {"REVIEW_DEBT": "1000000", "GIT_AUTO_PUSH": "false", "CHECKPOINT_DAYS": "3650"}
"""Settings that leave the daemon nothing to do."""
START_S, STOP_S, ANSWER_S = 600, 300, 120
SETTLE_S = 40
"""Seconds to wait after the start, because the daemon checks its home once after the start."""
SLOW_MS = 20_000
"""Milliseconds above which an address counts as slow; a slow address is requested only once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The times of the requests to one address."""

    address: str
    status: int
    size: int
    first_ms: float
    wall_ms: float
    processor_ms: float


class Site:
    """A running daemon, and its addresses."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon

    def processor_ms(self) -> float:
        """Return the daemon's processor time so far, in ms."""
        assert self.daemon.process
        return processors(self.daemon.process.pid, None)[0] * 1000

    def ask(self, address: str, body: object = None) -> tuple[int, bytes]:
        """Send a request, a POST if there is a body; return the status and the complete answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.daemon.url + address, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S if body is None else STOP_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def newest(self, what: str, field: str) -> object:
        """Return a field of the first row in a list of the API; empty if the list is empty."""
        rows = json.loads(self.ask(f"/api/{what}?limit=1")[1])[what]
        return rows[0][field] if rows else ""

    def addresses(self) -> Iterator[str]:
        """Yield all addresses with their parameters filled; addresses with an unknown parameter are left out."""
        fill = {
            "task_id": self.newest("tasks", "task_id"), "commit": self.newest("commits", "commit"),
            "lesson_id": self.newest("lessons", "id"), "attempt": 1, "step_no": 1,
        }  # fmt: skip
        gets = [each.path for each in ENDPOINTS if each.method == "GET"]
        for address in dict.fromkeys([*(page.path for page in PAGES), *gets, *MORE]):
            names = re.findall(r"\{(\w+)\}", address)
            if all(fill.get(name) for name in names) and not NOT_TIMED.search(address):
                yield address.format_map(fill)

    def time(self, address: str, repeat: int) -> Timed:
        """Request an address once, and then several times more."""
        first_ms, *_ = self._once(address)
        before, walls, times = self.processor_ms(), list[float](), repeat if first_ms < SLOW_MS else 1
        for _ in range(times):
            wall_ms, status, size = self._once(address)
            walls.append(wall_ms)
        spent = round((self.processor_ms() - before) / times, 1)
        return Timed(
            address=address, status=status, size=size, first_ms=first_ms, wall_ms=min(walls), processor_ms=spent
        )

    def _once(self, address: str) -> tuple[float, int, int]:
        began = time.perf_counter()
        status, body = self.ask(address)
        return round((time.perf_counter() - began) * 1000, 1), status, len(body)


def time_all(site: Site, asked: argparse.Namespace) -> list[Timed]:
    """Time all addresses, print each result, and make the reports of the week."""
    times = []
    for address in site.addresses():
        if asked.only in address:
            times.append(site.time(address, asked.repeat))
            text = json.dumps(asdict(times[-1]))
            print(text, flush=True)
            if asked.out:
                with asked.out.open("a") as out:
                    out.write(text + "\n")
    for _ in range(0 if asked.only else asked.reports):
        before, began = site.processor_ms(), time.perf_counter()
        status, _body = site.ask("/api/reports", {})
        wall_ms, spent = (time.perf_counter() - began) * 1000, site.processor_ms() - before
        print(f"a report of the week: status {status}, {wall_ms:.0f} ms, processor {spent:.0f} ms")
    return times


def main() -> int:
    """Time the addresses of a home; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--copy", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--most-ms", type=float, default=300)
    parser.add_argument("--only", default="", help="addresses with this text")
    parser.add_argument("--reports", type=int, default=1)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    home = asked.home.resolve()
    more = dict(each.split("=", 1) for each in asked.settings)
    with tempfile.TemporaryDirectory(dir=home.parent) as folder, WireServer(lambda *_: "1. Nothing.") as server:
        if asked.copy:
            home = Path(shutil.copytree(home, Path(folder) / "home", symlinks=True))
        daemon, began = Daemon(home, settings_for(server, **OFF, **more)), time.monotonic()
        daemon.start(START_S)
        site = Site(daemon)
        print(f"started in {time.monotonic() - began:.1f} s, processor {site.processor_ms() / 1000:.1f} s")
        try:
            time.sleep(SETTLE_S)
            times = time_all(site, asked)
        finally:
            began = time.monotonic()
            daemon.stop(STOP_S)
            print(f"stopped in {time.monotonic() - began:.1f} s")
    bad = sorted((each for each in times if each.processor_ms > asked.most_ms or each.status >= 400),
                 key=lambda each: -each.processor_ms)  # fmt: skip
    for each in bad:
        print(f"{each.status}, {each.processor_ms:.0f} ms of processor time: {each.address} ({each.size} bytes)")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
