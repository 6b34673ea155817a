"""Parses Markdown pages into links, fenced blocks, inline code, HTML and anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_ANCHOR = re.compile(r"""\b(?:id|name)\s*=\s*["']([^"']+)["']""")
_PLAIN = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a page: the target of a link, a fenced block, inline code or HTML.

    Attributes:
        line: the line on which the part begins.
        text: the text of the part.
        info: the language of a fenced block; empty for any other part.
    """

    line: int
    text: str
    info: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The parts of a page that are checked.

    Attributes:
        links: the targets of links and images.
        blocks: the fenced blocks.
        spans: the inline code.
        html: the HTML blocks and inline HTML.
        anchors: the anchors of the headings and of the HTML, in the form of `simplify_anchor`.
    """

    links: tuple[Piece, ...] = ()
    blocks: tuple[Piece, ...] = ()
    spans: tuple[Piece, ...] = ()
    html: tuple[Piece, ...] = ()
    anchors: frozenset[str] = frozenset()


def simplify_anchor(anchor: str) -> str:
    """Return an anchor in lower case and without hyphens and other signs, because sites generate these differently."""
    return _PLAIN.sub("", anchor).casefold()


def read(text: str) -> Page:
    """Parse a page. Every text is valid Markdown, so parsing never fails."""
    links, blocks, spans, html, anchors = list[Piece](), list[Piece](), list[Piece](), list[Piece](), set[str]()
    line, heads = 1, False
    for token in _reader().parse(text):
        line = token.map[0] + 1 if token.map else line
        if token.type == "fence":
            blocks.append(Piece(line=line, text=token.content, info=(token.info.split() or [""])[0].casefold()))
        elif token.type == "html_block":
            html.append(Piece(line=line, text=token.content))
            anchors |= {simplify_anchor(name) for name in _ANCHOR.findall(token.content)}
        elif token.type == "inline":
            anchors |= {simplify_anchor("".join(child.content for child in token.children or ()))} if heads else set()
            for at, child in _lines(token, line):
                target = child.attrGet("href") or child.attrGet("src") if child.type in {"link_open", "image"} else None
                links += [Piece(line=at, text=str(target))] if target else []
                spans += [Piece(line=at, text=child.content)] if child.type == "code_inline" else []
                html += [Piece(line=at, text=child.content)] if child.type == "html_inline" else []
                anchors |= (
                    {simplify_anchor(name) for name in _ANCHOR.findall(child.content)}
                    if "html" in child.type
                    else set()
                )
        heads = token.type == "heading_open"
    return Page(
        links=tuple(links),
        blocks=tuple(blocks),
        spans=tuple(spans),
        html=tuple(html),
        anchors=frozenset(anchors - {""}),
    )


def _lines(token: Token, line: int) -> Iterator[tuple[int, Token]]:
    for child in token.children or ():
        yield line, child
        line += child.type in {"softbreak", "hardbreak"}


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 (loaded when the first page is judged)

    return MarkdownIt("commonmark").enable("table")
