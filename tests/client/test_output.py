"""The formats of table cells, times and plain columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from nightshift.client.output import Cell, Fields, Lines, Table, cell, plain_lines, stamp

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=1)))


def test_a_cell_is_one_harmless_line() -> None:
    assert Cell("a\nb\tc\x1b[2J\u202e").text == "a b c\\x1b[2J\\u{202e}"


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (" \n", "-"), (0, "0")])
def test_nothing_is_a_dash_so_that_columns_can_be_counted(value: object, shown: str) -> None:
    assert cell(value).text == shown


def test_times_are_the_owners_own_and_short_on_a_terminal() -> None:
    assert stamp(AT, short=False).text == AT.astimezone().isoformat(timespec="seconds")
    assert stamp(AT, short=True).text == AT.astimezone().strftime("%Y-%m-%d %H:%M")
    now = datetime.now(UTC)
    assert stamp(now, short=True).text == now.astimezone().strftime("%H:%M:%S")
    assert stamp(None, short=True).text == "-"


def test_plain_blocks_are_aligned_columns_and_nothing_is_cut() -> None:
    long = "x" * 300
    table = Table(head=("id", "text"), rows=[(cell(1), cell("a b")), (cell(1000), cell(long))])
    assert plain_lines(table) == ["ID    TEXT", "1     a b", "1000  " + long]
    assert plain_lines(Table(head=("id", "text"), rows=[])) == ["ID  TEXT"]
    assert plain_lines(Fields(pairs=[("a", cell(1)), ("long", cell(2))])) == ["a     1", "long  2"]
    assert plain_lines(Fields(pairs=[])) == []
    assert plain_lines(Lines(lines=[Cell("  as it is")])) == ["  as it is"]
