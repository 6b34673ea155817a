"""Converts a report's Markdown into the elements that the dashboard draws; text can never become markup.

Reports of earlier versions also exist as Markdown, and are read in the same way. A report contains no links, pictures
or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode


@dataclass(frozen=True, slots=True)
class Element:
    """An HTML element: tag, attributes, and children, which are elements or texts."""

    tag: str
    attributes: Mapping[str, str]
    children: Sequence[Element | str]


Node = Element | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of the report with a heading; `name` is its anchor."""

    name: str
    title: str
    body: Sequence[Element]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The whole report. `lead` is the part before the first section."""

    title: str
    lead: Sequence[Element]
    sections: Sequence[Section]


def read(markdown: str) -> Document:
    """Parse a Markdown text into a document."""
    from markdown_it.tree import SyntaxTreeNode  # noqa: PLC0415  only a report needs it

    title, lead = "", list[Element]()
    sections: list[tuple[str, list[Element]]] = []
    for block in SyntaxTreeNode(_parser().parse(markdown)).children:
        if block.type == "heading" and block.tag == "h1":
            title = _text(block)
        elif block.type == "heading" and block.tag == "h2":
            sections.append((_text(block), []))
        else:
            drawn = [node for node in _draw(block) if isinstance(node, Element)]
            (sections[-1][1] if sections else lead).extend(drawn)
    return Document(
        title=title,
        lead=lead,
        sections=[
            Section(name="-".join(re.findall(r"[a-z0-9]+", title.lower())), title=title, body=body)
            for title, body in sections
        ],
    )


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415  as above

    unwanted = ["link", "image", "autolink", "reference", "code", "html_block", "html_inline"]
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(unwanted)


def _draw(node: SyntaxTreeNode) -> Iterator[Node]:
    """Convert a node of the syntax tree to elements; a node without a tag becomes its content."""
    if node.type in {"text", "softbreak", "hardbreak"}:
        yield node.content if node.type == "text" else "\n"
    elif node.type in {"code_inline", "fence"}:
        yield Element("code" if node.type == "code_inline" else "pre", {}, [node.content])
    elif node.type == "inline" or node.hidden:
        yield from _draw_children(node)
    elif node.type == "table":
        label = ", ".join(filter(None, map(_text, node.children[0].children[0].children)))
        table = Element("table", {}, _draw_children(node))
        yield Element("div", {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": label}, [table])
    else:
        is_number = node.type in {"th", "td"} and "right" in str(node.attrs.get("style"))
        yield Element(node.tag, {"class": "number"} if is_number else {}, _draw_children(node))


def _draw_children(node: SyntaxTreeNode) -> list[Node]:
    return [drawn for child in node.children for drawn in _draw(child)]


def _text(node: SyntaxTreeNode) -> str:
    """Return the text in a node, without markup."""
    return "".join(child.content for child in node.walk() if child.type in {"text", "code_inline"})
