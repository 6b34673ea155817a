from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from nightshift.server.context import AppContext
from nightshift.server.pages.page_table import PAGES, STATUS, Page
from tests.support.app_context import Client, fill, make_desk, serving
from tests.support.worked_task import submit

EVIL = "</script><script>alert(1)</script><!-- <script>"
SECRET = "hunter2-hunter2"
TASKS = "/api/tasks?limit=50"


@pytest.fixture
def careful(tmp_path: Path) -> Iterator[AppContext]:
    """Provide an application context whose mask hides a secret."""
    context = make_desk(tmp_path / "careful")
    context.mask.learn([SECRET, "12345678"])
    yield context
    context.database.close()


def page(*preload: str, path: str = "/") -> Page:
    return Page(name="dashboard", path=path, title="x", preload=preload)


def data_of(html: str) -> Any:
    match = re.search(r'<script type="application/json" id="boot">(.*?)</script>', html, re.DOTALL)
    assert match
    return json.loads(match[1])


def test_a_page_comes_with_the_answers_of_the_api(client: Client, context: AppContext) -> None:
    submit(context, "Write calc.py")
    fill(context, 3)
    data = data_of(client.get("/tasks").text)
    for address in (STATUS, TASKS):
        assert data["answers"][address] == client.get(address).json
    assert data["after"] == context.events.newest_id()
    assert data["page"] == {"name": "tasks", "where": {}}


def test_a_text_cannot_end_the_data(client: Client, context: AppContext) -> None:
    submit(context, EVIL)
    html = client.get("/tasks").text
    assert EVIL not in html
    assert html.count("</script>") == html.count("<script")
    assert data_of(html)["answers"][TASKS]["tasks"][0]["description"] == EVIL


def test_secrets_are_masked_in_answers_and_in_pages(careful: AppContext) -> None:
    submit(careful, f"use {SECRET} to log in", metadata={SECRET: [SECRET, 12345678]}, files={"a.py": SECRET})
    with serving(careful) as client:
        for got in (client.get("/"), client.get(TASKS), client.get("/api/task/1")):
            assert SECRET not in got.text
        detail = client.get("/api/task/1").json
        assert detail["description"] == "use *** to log in"
        assert detail["metadata"] == {"***": ["***", 12345678]}, "a number that looks like a secret stays a number"


@pytest.mark.parametrize("each", [page for page in PAGES if not page.needs_hub], ids=lambda each: each.name)
def test_all_that_a_page_is_made_of_is_there(shared: Client, each: Page) -> None:
    if "{" in each.path:
        pytest.skip("about a thing of its own, which the tests of its page have")
    html = shared.get(each.path).text
    links = [urljoin(each.path, link) for link in re.findall(r'(?:href|src)="([./]*static/[^"]+)"', html)]
    assert any(link.endswith(each.script) for link in links)
    assert any(link.endswith("vendor/preact.js") for link in links)
    for link in links:
        assert shared.get(link).status == 200, link
        assert re.match(r"/static/v-\w{12}/", link), link
    assert f"<title>{each.title} · Nightshift</title>" in html
