from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from nightshift.core.events import Event, Kind, Level
from nightshift.server.context import AppContext
from tests.support.app_context import Client, make_desk, serving
from tests.support.worked_task import submit, work_on

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}"
BROWSER = {"Accept": "text/html"}


class Tags(HTMLParser):
    """A parser that collects the elements of a page with their attributes, and the text of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def pages(context: AppContext) -> list[str]:
    """Fill the database with hostile texts, and return the addresses of all pages."""
    submit(
        context, EVIL, tests={"test_x.py": f"# {EVIL}"}, files={"calc.py": f"# {EVIL}"}, repo=EVIL, metadata={"a": EVIL}
    )
    work_on(context, passes=False, reply=EVIL, suffix=EVIL)
    context.queue.cancel(submit(context, f"two {EVIL}", test_command=[EVIL])).result()
    context.events.emit(Event(kind=Kind.MODEL_FAILED, level=Level.ERROR, message=EVIL, task_id=1))
    context.queue.pause(EVIL).result()
    return ["/", "/task/1", "/task/2", "/logs", "/logs?level=ERROR", "/login", "/nothing"]


def test_hostile_texts_are_shown_as_text_on_every_page(client: Client, context: AppContext) -> None:
    for path in pages(context):
        got = client.get(path, **BROWSER)
        tags = Tags(got.text)
        scripts = [attributes for tag, attributes in tags.seen if tag == "script"]
        runs = [attributes for attributes in scripts if attributes.get("type") != "application/json"]
        assert all(set(attributes) <= {"type", "src"} for attributes in runs), path
        assert all((attributes["src"] or "").lstrip("./").startswith("static/") for attributes in runs)
        images = {attributes["src"] for tag, attributes in tags.seen if tag == "img"}
        assert all(re.fullmatch(r"[./]*static/v-\w{12}/icons/idle\.svg", image or "") for image in images), images
        assert not [name for _, attributes in tags.seen for name in attributes if name.startswith("on")]
        assert not re.search(r"<style| style=|javascript:|<script(?! type=.application/json)[^>]*>[^<]", got.text)
    assert "49" not in Tags(client.get("/task/1/call/1/1/0").text).words


def test_no_script_writes_markup() -> None:
    sinks = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc")
    scripts = [path for path in Path("nightshift/server/static").rglob("*.js") if "vendor" not in path.parts]
    assert len(scripts) >= 5
    for script in scripts:
        assert not sinks.search(script.read_text()), script.name


def test_secrets_in_replies_are_masked(tmp_path: Path) -> None:
    context = make_desk(tmp_path)
    context.mask.learn(["hunter2-hunter2"])
    submit(context, "Write calc.py")
    work_on(context, reply="key = 'hunter2-hunter2'")
    with serving(context) as client:
        for path in ("/task/1/call/1/1/0", "/api/task/1/step/1/1", "/api/task/1/diff", "/task/1"):
            assert "hunter2" not in client.get(path).text, path
        assert "***" in client.get("/task/1/call/1/1/0").text
        assert "***" in client.get("/api/task/1/step/1/1").text
        assert "***" in client.get("/api/task/1/diff").text
    context.database.close()


def test_a_page_that_does_not_exist_is_a_page_for_a_browser(client: Client) -> None:
    got = client.get("/task/99", **BROWSER)
    assert got.status == 404
    assert "there is no task 99" in Tags(got.text).words
    assert client.get("/task/99", Accept="application/json").json["error"] == "there is no task 99"
