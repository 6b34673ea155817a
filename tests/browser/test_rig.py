"""`Watch` sees every kind of error, so a passing page test means that nothing went wrong on the page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.support.browser import Watch, hear


@pytest.mark.parametrize(
    ("does", "complaint"),
    [
        ("console.error('oh')", "console: oh"),
        ("setTimeout(() => { throw new Error('broken'); })", "script: broken"),
        ("fetch('/api/task/999999')", "404 GET"),
        ("fetch('http://127.0.0.1:9/').catch(() => {})", "connect-src"),
        ("location.href = 'http://127.0.0.1:9/'", "elsewhere: GET http://127.0.0.1:9/"),
        ("document.body.append(Object.assign(new Image(), {src: 'http://elsewhere.invalid/x.png'}))", "img-src"),
        ("setTimeout(() => { document.body.innerHTML = '<b>x</b>'; })", "require-trusted-types-for"),
        ("setTimeout(() => alert('hello'))", "dialog: hello"),
    ],
)
def test_the_watch_complains_of(page: Page, watch: Watch, does: str, complaint: str) -> None:
    page.goto("/login")
    assert not watch.complaints
    page.evaluate(f"() => {{ {does}; }}")
    hear(page, lambda: any(complaint in each for each in watch.complaints))
    watch.allow(".*")
