"""Reports in their folder: what is kept of the document comes back as it was, and names never lead out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.codec import decode
from report import stored
from report.document import Entries, Fact, Page, Section, line
from report.page import page_of
from report.stored import Report, UnknownReport
from report.weeks import last_moment, report_name
from tests.support.history import FIRST, WEEK, History
from tests.support.hostile_words import hostile_texts
from weekly_summary import summarise, write_report


def test_the_document_of_a_week_comes_back_as_it_was(history: History, tmp_path: Path) -> None:
    history.week()
    summary = summarise(history.store.db, FIRST, FIRST + WEEK)
    path = write_report(summary, tmp_path)
    kept = stored.read(tmp_path, path.stem).report
    assert kept is not None
    assert (kept.since, kept.until) == (FIRST, FIRST + WEEK)
    assert stored.as_text(kept) == path.with_suffix(".json").read_text()
    page = page_of(summary)
    assert [(each.name, len(each.blocks)) for each in kept.page.sections] == [
        (each.name, len(each.blocks)) for each in page.sections
    ]
    assert {type(block) for each in kept.page.sections for block in each.blocks} == {
        type(block) for each in page.sections for block in each.blocks
    }
    assert list(kept.page.facts) == list(page.facts)


def test_commits_and_tasks_name_their_task(history: History) -> None:
    history.week()
    page = page_of(summarise(history.store.db, FIRST, FIRST + WEEK))
    named = {
        piece.task
        for section in page.sections
        if section.name == "reading"
        for block in section.blocks
        if isinstance(block, Entries)
        for entry in block.items
        for piece in entry.head
    }
    done = {row[0] for row in history.store.db.reader().execute("SELECT task_id FROM git_commits")}
    assert named - {None} == done


@given(hostile_texts)
def test_any_text_comes_back(text: str) -> None:
    page = Page(title=text, span=text, lead=[line(text)], facts=[Fact(name=text, shown=text, value=1.5)], advice=[],
                sections=[Section(name="a", title=text)])  # fmt: skip
    report = Report(since=FIRST, until=FIRST + WEEK, page=page)
    kept = decode(Report, stored.as_text(report))
    assert stored.as_text(kept) == stored.as_text(report)
    assert kept.page.facts[0] == page.facts[0]


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
    for damaged in ("", "{", '{"since": 1}', "[]"):
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
