"""Stored reports: hostile texts stay plain texts, and report names never lead out of the folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.text.masking import printable
from nightshift.report import page, stored
from nightshift.report.markup import escape
from nightshift.report.page import Node
from nightshift.report.stored import UnknownReport
from nightshift.report.weekly import summarise, write_report
from nightshift.report.weeks import last_moment, report_name
from tests.support.history import FIRST, WEEK, History
from tests.support.hostile_words import hostile_texts


def texts(*nodes: Node) -> list[str]:
    """Return all texts within these elements, in order."""
    return [text for node in nodes for text in ([node] if isinstance(node, str) else texts(*node.children))]


@given(hostile_texts)
def test_a_text_stays_a_text(text: str) -> None:
    document = page.read(f"# Title\n\n{escape(text)}\n\n## Part\n\n| a |\n| --: |\n| {escape(text)} |\n")
    flat = " ".join(printable(text).split())
    assert "".join(texts(*document.lead)).replace("\n", "") == flat
    (table,) = document.sections[0].body
    assert (table.tag, table.attributes["aria-label"]) == ("div", "a")
    assert "".join(texts(table)) == f"a{flat}"


def test_a_rerun_gives_the_same_bytes_and_leaves_nothing_else(history: History, tmp_path: Path) -> None:
    history.week()
    first = write_report(summarise(history.store.db, FIRST, FIRST + WEEK), tmp_path)
    before = first.read_bytes()
    assert write_report(summarise(history.store.db, FIRST, FIRST + WEEK), tmp_path) == first
    assert (first.read_bytes(), list(tmp_path.glob("*.md"))) == (before, [first])


def test_a_folder_lists_reports_by_their_span_and_nothing_else(tmp_path: Path) -> None:
    reports = ("2026-W46", "2026-W47", "2025-W52", "2026-11-20", "2026-11-20T0310")
    for name in (*reports, "notes", "2026-W99", "2026-13-01"):
        (tmp_path / f"{name}.md").write_text("#")
    (tmp_path / "2026-W48.html").write_text("")
    assert stored.list_names(tmp_path) == ["2026-W47", "2026-11-20T0310", "2026-11-20", "2026-W46", "2025-W52"]
    assert stored.list_names(tmp_path / "nowhere") == []


@pytest.mark.parametrize("name", ["2026-W48", "../2026-W47", "/etc/passwd", "２０２６-W47", "2026-W47\n"])
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
