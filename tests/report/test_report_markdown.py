"""The Markdown: whatever a text holds, a reader of Markdown finds that text and nothing else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.masking import printable
from report import markdown
from report.document import (
    Block,
    Bullets,
    Entries,
    Entry,
    Fact,
    Page,
    Paragraph,
    Part,
    Piece,
    Section,
    Series,
    Stack,
    Style,
    Table,
    Trend,
    code,
    line,
)
from tests.support.hostile_words import hostile_texts

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def flat(text: str) -> str:
    return " ".join(printable(text).split())


def inline(text: str) -> list[Token]:
    """What a reader finds in a text that stands alone: one paragraph, and its pieces."""
    tokens = READER.parse(text)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"], tokens
    return tokens[1].children or []


def cells(text: str) -> list[list[list[Token]]]:
    """The cells of a text that is one table, row by row."""
    tokens = READER.parse(text)
    assert tokens[0].type == "table_open", text
    assert tokens[-1].type == "table_close", text
    rows: list[list[list[Token]]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token.children or [])
    return rows


def read(tokens: list[Token]) -> str:
    """The text of pieces that are nothing but text and code."""
    assert {token.type for token in tokens} <= {"text", "text_special", "code_inline"}, tokens
    return "".join(token.content for token in tokens)


def page(*blocks: Block, text: str = "t") -> str:
    section = Section(name="s", title=text, blocks=blocks)
    found = Page(
        title=text,
        span=text,
        lead=[line(text)],
        facts=[Fact(name=text, shown=text)],
        advice=[line(text)],
        sections=[section],
    )
    return markdown.render(found)


@settings(deadline=None)
@given(hostile_texts.filter(flat))
@example("1. l")
@example("23) l")
@example("---")
@example("- l")
@example("# h")
def test_a_text_is_read_as_it_is(text: str) -> None:
    assert read(inline(markdown.escaped(text))) == flat(text)


@settings(deadline=None)
@given(hostile_texts.filter(flat))
def test_code_is_read_as_it_is(text: str) -> None:
    (token,) = inline(markdown.as_code(text))
    assert (token.type, token.content) == ("code_inline", flat(text))


@settings(deadline=None)
@given(st.lists(st.tuples(hostile_texts, hostile_texts), max_size=4))
def test_a_table_keeps_its_cells_whatever_stands_in_them(rows: list[tuple[str, str]]) -> None:
    table = Table(head=("a", "b"), rows=[[line(one), line(code(other))] for one, other in rows])
    found = cells(markdown.write_block(table))
    assert [[read(cell) for cell in row] for row in found[1:]] == [[flat(one), flat(other)] for one, other in rows]


@settings(deadline=None)
@given(st.lists(hostile_texts.filter(flat), min_size=1, max_size=4))
def test_a_list_keeps_its_items(texts: list[str]) -> None:
    tokens = READER.parse(markdown.write_block(Bullets(items=[line(text) for text in texts])))
    kinds = [token.type for token in tokens]
    assert kinds.count("list_item_open") == kinds.count("inline") == len(texts)
    assert [read(t.children or []) for t in tokens if t.type == "inline"] == [flat(text) for text in texts]


@settings(deadline=None)
@given(hostile_texts)
def test_the_whole_report_holds_no_markup_of_a_text_and_nothing_that_moves_a_terminal(text: str) -> None:
    series = Series(name=text, values=[1, None], shown=[text, text], labels=[text, text], usual=text, change=text)
    written = page(
        Paragraph(text=(Piece(text, Style.BAD), Piece(text))),
        Stack(title=text, parts=[Part(name=text, count=1)]),
        Trend(series=[series]),
        Entries(items=[Entry(head=line(text), style=Style.BAD, lines=[line(text)], commands=[(text, text)])]),
        text=text,
    )
    found = [child for token in READER.parse(written) for child in (token, *(token.children or []))]
    kinds = {token.type for token in found}
    assert not kinds & {
        "link_open",
        "image",
        "html_inline",
        "html_block",
        "fence",
        "code_block",
        "s_open",
        "em_open",
        "hr",
    }
    assert all(char == "\n" or unicodedata.category(char)[0] != "C" for char in written)
    assert [token.tag for token in found if token.type == "heading_open"] == ["h1", "h2", "h2"]


def test_names_and_paths_of_ours_stay_readable_in_a_terminal() -> None:
    for text in ("tests_passed (+8); 3 files: app/auth.py, a-b.py", "10:30 is 5 % of 1.5 h", "C# & co", "x = y > z"):
        assert markdown.escaped(text) == text


def test_figures_line_up_under_their_heads() -> None:
    table = Table(head=("a", "n"), rows=[[line("x"), line("1")], [line("日本"), line("1,000")]], numbers=frozenset({1}))
    assert markdown.write_block(table).splitlines() == [
        "| a    |     n |",
        "| ---- | ----: |",
        "| x    |     1 |",
        "| 日本 | 1,000 |",
    ]


@pytest.mark.parametrize(
    ("values", "top", "shown"),
    [([0, 1, 2, 4], None, "▁▃▅█"), ([None, 0, 0], None, "·▁▁"), ([0.5, 1.0], 1.0, "▅█"), ([], None, "")],
)
def test_a_row_of_bars_stands_for_values(values: list[float | None], top: float | None, shown: str) -> None:
    assert markdown.spark(values, top) == shown


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=5))
def test_the_bar_of_a_whole_has_always_the_same_length(counts: list[int]) -> None:
    parts = [Part(name=str(n), count=count) for n, count in enumerate(counts)]
    written = markdown.write_block(Stack(title="t", parts=parts))
    assert len(written.split("`")[1]) == 40 if any(counts) else written == ""
