"""The pages behind a proxy that serves them below a path, and under a host name over plain HTTP."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from nightshift.server.context import AppContext
from nightshift.server.pages.page_table import PAGES
from nightshift.server.serving.listen import Listen
from tests.support.app_context import Client, fill, serving
from tests.support.attacker import IN_NETWORK
from tests.support.browser import LIVE, PATIENCE_MS, Watch, context_of, open_live
from tests.support.worked_task import submit

TOKEN = "sesame-open-the-night"
BELOW = "/tools/nightshift"


@contextmanager
def proxy(port: int, *, strips: bool) -> Iterator[int]:
    """Run a reverse proxy that serves the daemon below a path and nothing else; yield its port."""

    class Handler(BaseHTTPRequestHandler):
        def pass_on(self) -> None:
            if not self.path.startswith(f"{BELOW}/"):
                self.send_error(404)
                return
            link = HTTPConnection("127.0.0.1", port, timeout=60)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.removeprefix(BELOW) if strips else self.path
            link.request(self.command, path, body, dict(self.headers.items()))
            answer = link.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "connection"}:
                    self.send_header(name, value)
            self.end_headers()
            try:
                while part := answer.read1(65536):
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:
                pass  # the browser closed the connection
            finally:
                link.close()

        do_GET = do_POST = do_PUT = pass_on  # noqa: N815  names that the library looks for

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def log_in(page: Page, address: str) -> None:
    open_live(page, f"{address}/login#{TOKEN}")


@pytest.mark.parametrize("strips", [True, False], ids=["the proxy takes the path off", "the proxy leaves it on"])
def test_pages_lines_and_buttons_work_below_a_path(browser: Browser, app_context: AppContext, *, strips: bool) -> None:
    number = submit(app_context, "Say hello to everybody")
    listen = Listen(port=0, token=TOKEN, page=f"https://night.example{BELOW}")
    with serving(app_context, listen) as client, proxy(client.host.port, strips=strips) as port:
        address = f"http://127.0.0.1:{port}{BELOW}"
        with context_of(browser, address) as context:
            page = context.new_page()
            watch = Watch(page, address)
            watch.allow("failed GET .*/api/logs/stream")  # leaving a page ends its stream
            watch.allow("503 GET .*/api/settings")  # this server runs without a daemon
            log_in(page, address)
            assert page.url == f"{address}/"
            for each in PAGES:
                if each.key and not each.needs_hub:
                    open_live(page, f"{address}{each.path}")
                    for link in page.locator("a[href]").all():
                        assert str(link.evaluate("each => each.href")).startswith((address, "https://")), each.path
            page.goto(f"{address}/tasks")
            page.get_by_role("link", name="Say hello to everybody").click()
            page.wait_for_url(f"{address}/task/{number}")
            page.wait_for_selector(LIVE, state="attached")
            page.get_by_role("button", name="Pause").click()
            expect(page.get_by_role("button", name="Resume")).to_be_visible()
            page.keyboard.press("g")
            page.keyboard.press("l")
            page.wait_for_url(f"{address}/logs")
            page.wait_for_selector(LIVE, state="attached")
            page.get_by_role("button", name="Log out").click()
            page.wait_for_url(f"{address}/login")
            watch.check()


def test_many_tabs_by_a_name_over_plain_http_share_one_stream(browser: Browser, app_context: AppContext) -> None:
    listen = Listen(address="0.0.0.0", port=0, token=TOKEN)
    with serving(app_context, listen) as client:
        address = f"http://{IN_NETWORK}:{client.host.port}"
        with context_of(browser, address) as context:
            pages = [context.new_page() for _ in range(8)]
            log_in(pages[0], address)
            assert pages[0].evaluate("!window.isSecureContext && !('locks' in navigator)")
            for page in pages[1:]:
                open_live(page, f"{address}/logs")
            assert streams(client) == 1
            pages[0].close()
            fill(app_context, 3)
            last = app_context.events.newest_id()
            for page in pages[1:]:
                page.wait_for_selector(f"#L{last}", timeout=PATIENCE_MS)
            assert streams(client) == 1


def streams(client: Client) -> int:
    """Return how many live streams the server has open."""
    figures = client.get("/metrics", Authorization=f"Bearer {TOKEN}").text
    match = re.search(r"^nightshift_stream_clients (\d+)", figures, re.MULTILINE)
    assert match
    return int(match[1])
