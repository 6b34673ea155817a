"""The reports' Markdown: whatever characters a text contains, a Markdown parser reads exactly that text."""

from __future__ import annotations

import unicodedata

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from nightshift.core.text.masking import printable
from nightshift.report.figures import Summary
from nightshift.report.markdown import align
from nightshift.report.markup import code, escape
from nightshift.report.weekly import render
from tests.support.hostile_words import hostile_texts

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def flat(text: str) -> str:
    return " ".join(printable(text).split())


def inline(text: str) -> list[Token]:
    """Parse a text on its own; return the tokens of its single paragraph."""
    tokens = READER.parse(text)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"], tokens
    return tokens[1].children or []


def cells(text: str) -> list[list[list[Token]]]:
    """Return the cells of a text that is one table, row by row."""
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
    """Return the text of these tokens, which may only be text and code."""
    assert {token.type for token in tokens} <= {"text", "text_special", "code_inline"}, tokens
    return "".join(token.content for token in tokens)


@settings(deadline=None)
@given(hostile_texts.filter(flat))
@example("1. l")
@example("23) l")
@example("---")
@example("- l")
@example("# h")
def test_a_text_is_read_as_it_is(text: str) -> None:
    assert read(inline(escape(text))) == flat(text)


@settings(deadline=None)
@given(hostile_texts.filter(flat))
def test_code_is_read_as_it_is(text: str) -> None:
    (token,) = inline(code(text))
    assert (token.type, token.content) == ("code_inline", flat(text))


@settings(deadline=None)
@given(st.lists(st.tuples(hostile_texts, hostile_texts), max_size=4))
def test_a_table_keeps_its_cells_whatever_stands_in_them(rows: list[tuple[str, str]]) -> None:
    lines = [f"| {escape(left)} | {code(other, in_table=True)} |" for left, other in rows]
    table = cells(align("\n".join(["| a | b |", "| --- | --- |", *lines])))
    assert [[read(cell) for cell in row] for row in table[1:]] == [[flat(left), flat(other)] for left, other in rows]


@settings(deadline=None)
@given(text=hostile_texts)
def test_the_whole_report_holds_no_markup_of_a_text_and_nothing_that_moves_a_terminal(week: Summary, text: str) -> None:
    written = render(week, lambda _: text)
    tokens = [child for token in READER.parse(written) for child in (token, *(token.children or []))]
    kinds = {token.type for token in tokens}
    unwanted = {"link_open", "image", "html_inline", "html_block", "fence", "code_block", "s_open", "em_open", "hr"}
    assert not kinds & unwanted
    assert all(char == "\n" or unicodedata.category(char)[0] != "C" for char in written)
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", *["h2"] * 7]
