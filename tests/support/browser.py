"""Debian's Chromium, driven by Playwright, and a class that records the errors on a page.

Playwright's synchronous interface keeps an event loop running in the thread that started it, so no asyncio test could
run in that thread. A browser therefore lives only for the tests of one file.
"""

from __future__ import annotations

import gc
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

from nightshift.server.pages.page_table import PAGES

Visit = Callable[[str], Page]
"""Function that opens an address and waits until its data are live."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
MISSING = "the browser's tests need Chromium: type `make setup-dev`, or `sudo apt-get install chromium`"
PATIENCE_MS = 60_000
"""Timeout of a condition, in milliseconds. Long, because the machine may be busy with other tests."""
LIVE = "[data-connection=live], #live.on"
WIDE, NARROW = (1440, 900), (390, 844)
# Log violations of the content security policy to the console, even if the policy only reports them.
_TELL = """addEventListener('securitypolicyviolation', (event) =>
  console.error(`forbidden by policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""


def chromium_path() -> str:
    """Return the path of Chromium.

    Raises:
        AssertionError: Chromium is not installed; the message says how to get it.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert program, MISSING
    return program


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """Run Chromium, configured to contact only hosts that pages name."""
    quiet = ("--disable-gpu", "--disable-extensions", "--mute-audio", "--no-pings")
    path = chromium_path()
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        # Chromium's own sandbox works neither for root nor in a container, and the browser shows our pages only.
        browser = playwright.chromium.launch(executable_path=path, chromium_sandbox=False, args=[*quiet, *arguments])
        try:
            yield browser
        finally:
            browser.close()
    # Suspended greenlets are unwound when they are collected. Collect them here, because doing so in the middle of
    # other work confuses the compiler.
    gc.collect()


@contextmanager
def context_of(
    browser: Browser, url: str, *, size: tuple[int, int] = WIDE, dark: bool = False
) -> Iterator[BrowserContext]:
    """Open a fresh browser profile in which relative addresses are resolved against `url`."""
    context = browser.new_context(
        base_url=url, viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light",
        locale="en-GB", timezone_id="UTC", reduced_motion="reduce",
    )  # fmt: skip
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(_TELL)
    try:
        yield context
    finally:
        context.close()


def addresses(home: Path, *tasks: int) -> list[str]:
    """List one address for each page that needs no hub.

    A task's page gets one address for each of these tasks. A report's page gets the address of the newest report, if
    there is a report.
    """
    reports = sorted(path.stem for path in (home / "reports").glob("*.md"))[-1:]
    paths = ["/login"]
    for page in (page for page in PAGES if not page.needs_hub):
        if "{task_id}" in page.path:
            paths += [page.path.format(task_id=task) for task in tasks]
        elif "{name}" in page.path:
            paths += [page.path.format(name=name) for name in reports]
        else:
            paths.append(page.path)
    return paths


def open_live(page: Page, address: str) -> Page:
    """Open an address and wait until its data are live."""
    page.goto(address)
    page.wait_for_selector(LIVE, state="attached")
    return page


def draw(page: Page) -> None:
    """Wait until the page has no element that is still loading."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def unfold(page: Page) -> None:
    """Open all folded parts and show each tab once, so that the page draws everything."""
    unfold = "() => document.querySelectorAll('details:not([open])').forEach((each) => { each.open = true; })"
    page.evaluate(unfold)
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.evaluate(unfold)


def hear(page: Page, condition: Callable[[], bool]) -> None:
    """Wait until events of the page make the condition true. Playwright delivers events only during such a wait."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        page.wait_for_timeout(20)


class Watch:
    """Records everything that goes wrong on a page.

    These are errors in scripts and on the console, violations of the content security policy, dialogs, and requests
    that fail, are refused or go to another origin.

    Args:
        page: the page, before it is opened.
        url: the only origin that the page may contact.
    """

    def __init__(self, page: Page, url: str) -> None:
        self._origin, self._allowed, self._told = _origin(url), list[re.Pattern[str]](), list[str]()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._tell(f"script: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._failed)
        page.on("response", self._response)
        page.on("dialog", self._dialog)

    def allow(self, pattern: str) -> None:
        """Allow complaints that match, such as `404 GET http://…/api/task/9$` or `failed GET .*/api/logs/stream`."""
        self._allowed.append(re.compile(pattern))

    @property
    def complaints(self) -> list[str]:
        """The recorded errors that the test did not allow."""
        return [text for text in self._told if not any(each.search(text) for each in self._allowed)]

    def check(self) -> None:
        """Raise AssertionError with all complaints if there are any, and clear them."""
        complaints, self._told = self.complaints, []
        assert not complaints, "on the page:\n" + "\n".join(complaints)

    def _tell(self, text: str) -> None:
        self._told.append(text)

    def _console(self, message: ConsoleMessage) -> None:
        # `_response` (with the status) or `_failed` already reports resources that fail to load.
        if message.type in {"error", "warning"} and not message.text.startswith("Failed to load resource"):
            self._tell(f"console: {message.text} ({message.location.get('url', '')})")

    def _dialog(self, dialog: Dialog) -> None:
        self._tell(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).scheme not in {"data", "blob"} and _origin(request.url) != self._origin:
            self._tell(f"elsewhere: {request.method} {request.url}")

    def _failed(self, request: Request) -> None:
        # The browser aborts a page's requests when the page is left.
        if request.failure != "net::ERR_ABORTED":
            self._tell(f"failed {request.method} {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self._tell(f"{response.status} {response.request.method} {response.url}")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
