"""Reports in their folder: what is kept of the document comes back as it was, and names never lead out."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.report import html, stored
from nightshift.report.elements import written
from nightshift.report.headline import facts
from nightshift.report.plots import Series
from nightshift.report.stored import Fact, Report, UnknownReport
from nightshift.report.trends import series
from nightshift.report.weekly import render, summarise, write_report
from nightshift.report.weeks import last_moment, report_name
from nightshift.storage.db.codec import decode
from tests.support.history import FIRST, WEEK, History
from tests.support.hostile_words import hostile_texts

OF_BEFORE = """{"since": "2026-11-15T06:00:00Z", "until": "2026-11-22T06:00:00Z", "page": {
  "title": "Nightshift, 2026-W47", "span": "2026-11-15 06:00 to 2026-11-22 06:00 UTC",
  "lead": [[{"text": "Nothing waits for you.", "style": "plain", "task": null}]],
  "facts": [{"name": "tasks done", "shown": "23", "value": 23.0, "wanted": 1}],
  "advice": [],
  "sections": [{"name": "trends", "title": "Trends", "blocks": [
    {"kind": "paragraph", "text": [{"text": "a", "style": "plain", "task": null}], "aside": false},
    {"kind": "trend", "series": [{"name": "tasks done", "values": [null, 23.0], "shown": ["not known", "23"],
      "labels": ["to 2026-11-15", "to 2026-11-22"], "bars": true, "top": null, "usual": "", "change": ""}]},
    {"kind": "table", "head": ["a"], "rows": [[[{"text": "b", "style": "code", "task": 1}]]], "numbers": [0],
      "title": ""}]}]}}"""
"""What the version before kept of a report: all of it, in blocks."""


def test_the_figures_of_a_week_come_back_as_they_were(history: History, tmp_path: Path) -> None:
    for _ in range(2):
        history.week()
    summary = summarise(history.store.db, FIRST + WEEK, FIRST + 2 * WEEK)
    path = write_report(summary, tmp_path)
    found = stored.read(tmp_path, path.stem)
    kept = found.report
    assert kept is not None
    assert (kept.since, kept.until) == (FIRST + WEEK, FIRST + 2 * WEEK)
    assert stored.as_text(kept) == path.with_suffix(".json").read_text()
    assert list(kept.facts) == facts(summary)
    assert kept.trend
    assert list(kept.trend) == series(summary.trend)
    assert found.text == render(summary)


def test_the_document_of_a_week_names_its_commits_by_their_tasks(history: History) -> None:
    history.week()
    text = render(summarise(history.store.db, FIRST, FIRST + WEEK))
    (reading,) = (each for each in html.read(text).sections if each.name == "reading")
    named = {int(found) for found in re.findall(r"· task (\d+) ·", written(*reading.body))}
    assert named == {row[0] for row in history.store.db.reader().execute("SELECT task_id FROM git_commits")}


def test_a_report_of_the_version_before_keeps_its_figures_and_plots(tmp_path: Path) -> None:
    (tmp_path / "2026-W47.json").write_text(OF_BEFORE)
    (tmp_path / "2026-W47.md").write_text(
        "# Nightshift, 2026-W47\n\n2026-11-15 06:00 to 2026-11-22 06:00 UTC\n\nNothing waits for you.\n\n"
        "## Trends\n\n| | now |\n| --- | --- |\n| tasks done | 23 |\n"
    )
    found = stored.read(tmp_path, "2026-W47")
    assert found.report is not None
    assert found.report.facts == [Fact(name="tasks done", shown="23", value=23.0, wanted=1)]
    page = html.read(found.text, found.report.trend)
    assert (page.title, page.span) == ("Nightshift, 2026-W47", "2026-11-15 06:00 to 2026-11-22 06:00 UTC")
    assert written(*page.lead) == "<p>Nothing waits for you.</p>"
    assert 'aria-label="tasks done: to 2026-11-15: not known; to 2026-11-22: 23"' in written(*page.sections[0].body)


@given(hostile_texts)
def test_any_text_comes_back(text: str) -> None:
    fact = Fact(name=text, shown=text, value=1.5)
    plotted = Series(name=text, values=[None, 1.0], shown=[text, text], labels=[text, text])
    report = Report(since=FIRST, until=FIRST + WEEK, facts=[fact], trend=[plotted])
    kept = decode(Report, stored.as_text(report))
    assert stored.as_text(kept) == stored.as_text(report)
    assert kept.facts[0] == fact


def test_a_folder_lists_reports_by_their_span_and_nothing_else(tmp_path: Path) -> None:
    reports = ("2026-W46", "2026-W47", "2025-W52", "2026-11-20", "2026-11-20T0310")
    for name in (*reports, "notes", "2026-W99", "2026-13-01"):
        (tmp_path / f"{name}.md").write_text("#")
    (tmp_path / "2026-W48.html").write_text("")
    assert stored.names(tmp_path) == ["2026-W47", "2026-11-20T0310", "2026-11-20", "2026-W46", "2025-W52"]
    assert stored.names(tmp_path / "nowhere") == []
    listed = stored.names(tmp_path)
    assert [stored.before(listed, name) for name in ("2026-W47", "2025-W52", "2026-11-20", "x")] == [
        "2026-W46", None, None, None,
    ]  # fmt: skip


def test_a_report_without_its_document_is_one_whose_text_can_be_had(tmp_path: Path) -> None:
    (tmp_path / "2026-W47.md").write_text("#")
    assert stored.read(tmp_path, "2026-W47").report is None
    for damaged in ("", "{", '{"since": 1}', "[]", '{"page": 1}'):
        (tmp_path / "2026-W47.json").write_text(damaged)
        assert stored.read(tmp_path, "2026-W47").report is None


@pytest.mark.parametrize(
    "name", ["2026-W48", "../2026-W47", "2026-W47.md", "", "/etc/passwd", "２０２６-W47", "2026-W47\n"]
)
def test_a_name_that_is_none_finds_nothing(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    for path in (folder / "2026-W47.md", tmp_path / "2026-W47.md"):
        path.write_text("#")
    with pytest.raises(UnknownReport):
        stored.read(folder, name)


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  they get one
    st.floats(0.01, 60),
)
def test_each_name_that_a_report_gets_is_known_again(until: datetime, days: float) -> None:
    moment = last_moment(report_name(until - timedelta(days=days), until))
    assert moment is not None
    assert abs(moment - until) <= timedelta(days=7)
