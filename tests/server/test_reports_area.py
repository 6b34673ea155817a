"""Weekly reports over the API: listed, read as elements, downloaded, and written on request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightshift.report.weekly import summarise, write_report
from nightshift.server.context import AppContext
from tests.support.app_context import Client, make_desk, serving
from tests.support.history import FIRST, WEEK, History, open_history

EVIL = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture(scope="module")
def two_weeks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[History, Path]]:
    """Write two weeks of history with a report for each."""
    folder = tmp_path_factory.mktemp("weeks")
    with open_history(folder / "agent.sqlite") as history:
        history.week(6)
        history.week(6)
        for number in range(2):
            write_report(summarise(history.store.db, FIRST + number * WEEK, FIRST + (number + 1) * WEEK), folder / "r")
        yield history, folder / "r"


@pytest.fixture
def room(two_weeks: tuple[History, Path], tmp_path: Path) -> Iterator[tuple[Client, AppContext]]:
    history, folder = two_weeks

    def report(week: str) -> Path:
        if week:
            raise ValueError(f"{week!r} is not a week; write it as 2026-W47")
        return write_report(summarise(history.store.db, FIRST, FIRST + WEEK), tmp_path / "made")

    context = replace(make_desk(tmp_path), reports_dir=lambda: folder, report=report)
    with serving(context) as client:
        yield client, context
    context.database.close()


def names(client: Client, query: str = "") -> list[str]:
    return [row["name"] for row in client.get(f"/api/reports{query}").json["reports"]]


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


def test_reports_are_listed_newest_first(room: tuple[Client, AppContext]) -> None:
    client, _ = room
    newer, older = client.get("/api/reports").json["reports"]
    assert newer["name"] > older["name"]
    page = client.get("/api/reports?limit=1").json
    assert [row["name"] for row in page["reports"]] == [newer["name"]]
    assert names(client, f"?limit=1&after={page['next_after']}") == [older["name"]]
    assert names(client, "?after=2020-W01") == []


def test_a_report_comes_in_elements(room: tuple[Client, AppContext]) -> None:
    client, _ = room
    got = client.get(f"/api/report/{names(client)[0]}").json
    sections = {section["name"]: section["body"] for section in got["page"]["sections"]}
    assert list(sections)[:2] == ["recommendations", "commits-worth-reading"]
    tags = {each["tag"] for body in sections.values() for each in body}
    assert {"p", "ul", "ol", "div"} <= tags <= {"p", "ul", "ol", "div", "blockquote"}
    (listed,) = (each for each in sections["commits-worth-reading"] if each["tag"] == "ol")
    assert "points" in "".join(texts(listed["children"][0]))


def test_a_report_is_downloaded(room: tuple[Client, AppContext]) -> None:
    client, _ = room
    name = names(client)[0]
    got = client.get(f"/api/report/{name}/file")
    assert got.headers["Content-Disposition"] == f'attachment; filename="{name}.md"'
    assert got.headers["Content-Type"].startswith("text/markdown")
    assert name in got.text


def test_a_name_that_is_no_report_is_not_found(room: tuple[Client, AppContext]) -> None:
    client, context = room
    (context.reports_dir().parent / "2026-W01.md").write_text("outside")
    for name in ("2026-W01", "..%2F2026-W01", "%2e%2e", "agent", "2026-W1"):
        for path in (f"/api/report/{name}", f"/api/report/{name}/file"):
            assert client.get(path).status == 404


def test_a_report_is_made_when_it_is_wanted(room: tuple[Client, AppContext]) -> None:
    client, _ = room
    answer = client.request("POST", "/api/reports")
    assert (answer.status, answer.headers["Location"]) == (201, f"/api/report/{answer.json['name']}")
    refused = client.post("/api/reports", {"week": "soon"})
    assert (refused.status, refused.json["error"]) == (400, "week: 'soon' is not a week; write it as 2026-W47")
    assert client.post("/api/reports", {"weak": ""}).status == 400


def test_a_report_of_before_is_shown_from_its_markdown(tmp_path: Path) -> None:
    (tmp_path / "2026-W47.md").write_text("# old\n\n## News <b>\n\n<i>[l](http://x)</i> ![i](//x)")
    context = replace(make_desk(tmp_path), reports_dir=lambda: tmp_path)
    with serving(context) as client:
        (row,) = client.get("/api/reports").json["reports"]
        assert row["name"] == "2026-W47"
        page = client.get("/api/report/2026-W47").json["page"]
        (section,) = page["sections"]
        assert (page["title"], section["title"]) == ("old", "News <b>")
        (paragraph,) = section["body"]
        assert paragraph["tag"] == "p"
        assert "".join(paragraph["children"]) == "<i>[l](http://x)</i> ![i](//x)"
        assert client.get("/api/report/2026-W47/file").text.startswith("# old")
    context.database.close()


def test_secrets_that_were_learned_since_and_controls_are_not_shown(tmp_path: Path) -> None:
    with open_history(tmp_path / "agent.sqlite") as history:
        history.week(4)
        history.store.db.write(
            lambda conn: conn.execute("UPDATE git_commits SET subject = ?", (f"{EVIL} hunter2222",))
        ).result()
        path = write_report(summarise(history.store.db, FIRST, FIRST + WEEK), tmp_path / "r")
    context = replace(make_desk(tmp_path), reports_dir=lambda: tmp_path / "r")
    context.mask.learn(["hunter2222"])
    with serving(context) as client:
        got = client.get(f"/api/report/{path.stem}")
    context.database.close()
    shown = "\n".join(texts(got.json))
    assert "hunter2222" in path.read_text()
    assert "hunter2222" not in shown
    assert "\x1b" not in shown
    assert "<script>alert(1)" in shown
